"""Ctrl+C that arrives where Python would lose it: in a destructor, or in the callback of a weak reference."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any

_AGAIN_SECONDS = 0.01
"""By then the destructor has returned."""


class Interrupt(KeyboardInterrupt):
    """A break-off by another signal than Ctrl+C's."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Meanwhile an interrupt that nothing could catch is raised once more; Python would only print its traceback."""
    before = sys.unraisablehook

    def hook(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            number = lost.exc_value.number if isinstance(lost.exc_value, Interrupt) else signal.SIGINT
            again = Timer(_AGAIN_SECONDS, signal.raise_signal, (number,))
            again.daemon = True
            again.start()
        else:
            before(lost)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
