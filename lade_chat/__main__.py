"""The ``lade-chat`` command and ``python -m lade_chat``: handles Ctrl+C before anything heavy is imported."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from contextlib import suppress

from lade_chat.child_processes import uncollected

INTERRUPTED = 130


def main() -> int:
    """Run the command line and return its exit code; after Ctrl+C, end the process with it.

    During imports and after the end, Ctrl+C ends the process silently, unless it is ignored.
    """
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if handled:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    with uncollected():
        from lade_chat.cli.app import main as run

    try:
        if handled:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    finally:
        if handled:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    if code == INTERRUPTED:
        _end_interrupted()
    return code


def _end_interrupted() -> None:
    """End the process as a normal exit would, but without waiting for threads still at work.

    One may be loading a model. Python ends such a thread when it next asks for the interpreter's lock; in the
    destructor of a C++ object that calls std::terminate, and the process would end with SIGABRT.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # its reader may be gone
            stream.flush()
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
