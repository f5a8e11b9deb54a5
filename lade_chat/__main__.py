"""The ``lade-chat`` command and ``python -m lade_chat``: handles Ctrl+C before anything heavy is imported."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit code.

    During imports and after the end, Ctrl+C ends the process silently, unless it is ignored.
    """
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from lade_chat.cli.app import main as run

    try:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return run()
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        if handled:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    sys.exit(main())
