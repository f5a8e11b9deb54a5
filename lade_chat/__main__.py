"""``python -m lade_chat``: the same as the ``lade-chat`` command."""

import sys

from lade_chat.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
