"""Texts kept by the prompt: messages that can be recalled, and long pastes behind their markers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class PromptHistory:
    """The messages sent or discarded: goes back and forth in them; begins at the latest again whenever one is added."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._place: int | None = None
        """The message that was recalled last."""
        self._unsent: set[str] = set()
        """Those that were discarded or taken back: they are kept nowhere else."""

    def add(self, text: str) -> None:
        if not self._messages or self._messages[-1] != text:
            self._messages.append(text)
        self._place = None
        self._unsent.discard(text)

    def take_back(self, text: str) -> None:
        """Note that a message was not sent after all."""
        self._unsent.add(text)

    def prepend(self, newest_first: Sequence[str]) -> None:
        """Add earlier messages than all of these."""
        self._messages = [*reversed(newest_first), *self._messages]
        self._place = None

    def is_recalled(self, text: str) -> bool:
        """Return True if ``text`` is the message recalled last, unedited."""
        return self._place is not None and self._messages[self._place] == text

    def is_sent(self, text: str) -> bool:
        """Return True if ``text`` is a message that was recalled, unedited, and is kept already."""
        return self.is_recalled(text) and text not in self._unsent

    def recall_last(self, text: str) -> None:
        """Count ``text`` as recalled if it is the latest message."""
        self._place = len(self._messages) - 1 if self._messages and self._messages[-1] == text else None

    def recall(self, direction: int, text: str) -> str | None:
        """Return the message before (-1) or after (1) the one that ``text`` recalls; empty after the latest.

        None if ``text`` is another, or there is no message to begin with.
        """
        place = self._place if self.is_recalled(text) else None
        if place is None:
            if text or not self._messages or direction > 0:
                return None
            place = len(self._messages)
        place += direction
        if place >= len(self._messages):
            self._place = None
            return ""
        self._place = max(place, 0)
        return self._messages[self._place]


MAX_PASTED_LINES, MAX_PASTED_CHARACTERS = 10, 50_000
"""Longer pastes are folded: every key would lay out all of them."""


class Fold(NamedTuple):
    """A marker in a line."""

    start: int
    end: int
    pasted: str


class FoldedPastes:
    """Long pastes by their markers in the prompt; one that is gone from it may come back, by undo or recall."""

    def __init__(self) -> None:
        self._pastes: dict[str, str] = {}

    def fold(self, text: str) -> str | None:
        """Return the marker of a long paste; None for a short one."""
        lines = len(text.splitlines())
        if lines <= MAX_PASTED_LINES and len(text) <= MAX_PASTED_CHARACTERS:
            return None
        size = f"{lines} lines" if lines > MAX_PASTED_LINES else f"{len(text):,} characters"
        marker = f"[{size} pasted]"
        if self._pastes.get(marker, text) != text:
            marker = f"[{size} pasted, {len(self._pastes) + 1}]"
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

    def at(self, line: str, column: int) -> Fold | None:
        """Return the marker that the column lies in or beside."""
        for marker, pasted in self._pastes.items():
            start = line.find(marker)
            while start >= 0:
                if start <= column <= start + len(marker):
                    return Fold(start, start + len(marker), pasted)
                start = line.find(marker, start + 1)
        return None
