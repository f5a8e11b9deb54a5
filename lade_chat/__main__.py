"""The ``lade-chat`` command and ``python -m lade_chat``: next to nothing is imported before Ctrl+C is seen to."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit code.

    While it is imported, and after it has ended, Ctrl+C ends the process without a word, unless it is ignored.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lade_chat.cli.app import main as run

    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if heeded:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
