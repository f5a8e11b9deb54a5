"""Ctrl+C where there is nothing to copy: the first says how to quit, a second one soon after does."""

from __future__ import annotations

import time

INTERRUPT_SECONDS = 2.0
"""Within so long a second Ctrl+C quits."""


class Interrupts:
    """Remembers the time of the last Ctrl+C."""

    def __init__(self) -> None:
        self._last = -INTERRUPT_SECONDS

    def again(self) -> bool:
        """Count a Ctrl+C; True if it is the second in a row."""
        before, self._last = self._last, time.monotonic()
        return self._last - before < INTERRUPT_SECONDS
