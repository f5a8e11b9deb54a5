"""The end of a process: its exit code, a Ctrl+C that Python would lose, and force where something holds it up."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import indent
from threading import Event, Thread, main_thread
from typing import Any

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
"""After Ctrl+C."""
TERMINATED = 143
"""After SIGTERM, as from ``timeout``."""
READER_GONE = 141
"""The code that a shell reports for a program ended by SIGPIPE."""

EXIT_CODES = (
    "Exit codes: 0 done · 1 failed · 2 wrong usage · 130 interrupted · 141 the reader of a pipe left · 143 SIGTERM"
)
_AGAIN_SECONDS = 0.01
"""By then the destructor has returned."""


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Raise again an interrupt that nothing could catch meanwhile; Python would only print its traceback."""
    before = sys.unraisablehook

    def hook(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            number = next(iter(lost.exc_value.args), signal.SIGINT)  # bench raises it for SIGTERM, too
            started = Event()
            Thread(target=_raise_again, args=(number, started), daemon=True).start()
            started.set()
        else:
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _raise_again(number: int, started: Event) -> None:
    """Raise a signal in the main thread once that has left the hook, where it would be lost again."""
    started.wait()
    time.sleep(_AGAIN_SECONDS)
    main = main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)  # raised in this thread, it would not wake the main one from its sleep
    else:
        signal.raise_signal(number)


PATIENCE_SECONDS = 10.0
"""Long enough for a slow disk, or a picture that is being written; usually all is over in half a second."""


def end_in_time(asked: Event, code: Callable[[], int]) -> None:
    """Watch in a thread: :data:`PATIENCE_SECONDS` after ``asked`` is set, end the process with ``code()``."""

    def watch() -> None:
        asked.wait()
        time.sleep(PATIENCE_SECONDS)
        os._exit(code())

    Thread(target=watch, name="ending", daemon=True).start()


def epilog(examples: str) -> str:
    """Return the end of a command's help: its examples, a line each, and the exit codes."""
    return f"\b\nExamples:\n{indent(examples.strip(), '  ')}\n\n{EXIT_CODES}"
