"""Keys that quit at their second press in a row: Ctrl+C, and where something would be lost the key that quits."""

from __future__ import annotations

import time

INTERRUPT_SECONDS = 2.0
"""Within so long a second Ctrl+C quits."""
CTRL_C = "Ctrl+C"


class Interrupts:
    """Remembers the key that was last pressed to quit, and when."""

    def __init__(self) -> None:
        self._key, self._last = "", 0.0

    def again(self, key: str = CTRL_C, seconds: float | None = None) -> bool:
        """Count a press; True if it is the key's second in a row, within ``seconds`` if they are given."""
        before, self._key, self._last = (self._key, self._last), key, time.monotonic()
        return before[0] == key and self._last - before[1] < (INTERRUPT_SECONDS if seconds is None else seconds)

    def is_counting(self) -> bool:
        """Tell whether the last key pressed was one that quits."""
        return bool(self._key)

    def forget(self) -> None:
        """Reset the count, since another key was pressed."""
        self._key = ""
