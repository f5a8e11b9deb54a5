"""Signals: what ends the chat from outside, and the shell's Ctrl+Z."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__)
"""The signals that end the chat; some systems lack one."""


def end_on_signals(end: Callable[[int], None]) -> None:
    """Quit on a signal as on Ctrl+Q, so that the terminal is restored; ``end`` gets the exit code."""
    # Some systems have no such handlers, and only the main thread may set them.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, end, 128 + number)


@contextmanager
def interrupts_left_alone() -> Iterator[None]:
    """While another program has the terminal, leave Ctrl+C to that one; obey other signals afterwards."""
    came: list[int] = []
    event_loop = signal.set_wakeup_fd(-1)
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDING}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(event_loop)
        for number in set(came) - {signal.SIGINT}:
            signal.raise_signal(number)
