"""FoldedPastes: long pastes, each shown in the prompt as a marker."""

from __future__ import annotations

from typing import NamedTuple

MAX_PASTED_LINES = 10
"""Longer pastes are folded."""


class Fold(NamedTuple):
    """A marker in a line."""

    start: int
    end: int
    pasted: str


class FoldedPastes:
    """The pastes by their markers; one that is gone from the prompt may come back, by undo or recall."""

    def __init__(self) -> None:
        self._pastes: dict[str, str] = {}

    def fold(self, text: str) -> str | None:
        """Return the marker of a long paste; None for a short one."""
        lines = len(text.splitlines())
        if lines <= MAX_PASTED_LINES:
            return None
        marker = f"[{lines} lines pasted]"
        if self._pastes.get(marker, text) != text:
            marker = f"[{lines} lines pasted, {len(self._pastes) + 1}]"
        self._pastes[marker] = text
        return marker

    def unfold(self, text: str) -> str:
        """Return the text with every paste in place of its marker."""
        for marker, pasted in self._pastes.items():
            text = text.replace(marker, pasted)
        return text

    def refold(self, text: str) -> str:
        """Return the text with a marker in place of every paste; one that holds another is folded whole."""
        for marker, pasted in sorted(self._pastes.items(), key=lambda fold: -len(fold[1])):
            text = text.replace(pasted, marker)
        return text

    def are_in(self, text: str) -> bool:
        return any(marker in text for marker in self._pastes)

    def at(self, line: str, column: int) -> Fold | None:
        """Return the marker that the column lies in or beside."""
        for marker, pasted in self._pastes.items():
            start = line.find(marker)
            while start >= 0:
                if start <= column <= start + len(marker):
                    return Fold(start, start + len(marker), pasted)
                start = line.find(marker, start + 1)
        return None
