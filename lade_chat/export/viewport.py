"""A text being written in a window of a few rows: which rows have to be drawn anew from moment to moment."""

from __future__ import annotations

from collections.abc import Sequence

from lade_chat.export.layout import Glyph, Line


class Viewport:
    """Shows the end of what is there. Words stand from the first where the finished text has them."""

    def __init__(self, lines: Sequence[Line], rows: int) -> None:
        self._lines, self._rows = lines, rows
        self._top = 0
        # How many rows are complete, and how many glyphs of the next are there.
        self._row = self._count = 0

    def advance(self, moment: float) -> list[tuple[int, Line]]:
        """Let appear what is there by ``moment``; the rows that changed, by their place in the window."""
        first = self._row
        changed = False
        while self._row < len(self._lines):
            line = self._lines[self._row]
            while self._count < len(line) and line[self._count].seconds <= moment:
                self._count += 1
                changed = True
            if self._count < len(line) or not self._goes_on(moment):
                break
            self._row, self._count = self._row + 1, 0
        if not changed:
            return []
        top = max(0, self._last_shown() + 1 - self._rows)
        if top != self._top:
            self._top, first = top, top
        return [(row - top, self._shown(row)) for row in range(max(first, top), self._last_shown() + 1)]

    def _goes_on(self, moment: float) -> bool:
        following = next((line[0] for line in self._lines[self._row + 1 :] if line), None)
        return following is not None and following.seconds <= moment

    def _last_shown(self) -> int:
        return min(self._row, len(self._lines) - 1)

    def _shown(self, row: int) -> tuple[Glyph, ...]:
        return self._lines[row] if row < self._row else self._lines[row][: self._count]
