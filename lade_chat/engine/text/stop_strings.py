"""Stop strings: a reply's pieces are cut at the first of them, and text that may begin one is held back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lade_chat.engine.text.thought_normalizer import Begin
from lade_chat.presentation.thought_splitter import CLOSING, OPENING, partial_match_length
from lade_chat.protocol.values import Piece


class StopStrings:
    """Filters a stream of pieces: cuts it at the first stop string, and holds back text that may begin one.

    The first stop string is the one completed first, so that the result does not depend on token boundaries. A thought
    at the reply's beginning, whose tags are each within a piece, and white space behind it are not searched.
    """

    def __init__(self, stop_strings: Iterable[str], begin: Begin = "answer") -> None:
        self._stops = [stop for stop in stop_strings if stop]
        self._place: Begin | None = begin
        """None behind a thought, before the answer."""
        self._held: list[Piece] = []
        self._skipped = 0
        """Characters held that are not searched."""
        self.reached = False

    def __bool__(self) -> bool:
        """Return True if there is any stop string."""
        return bool(self._stops)

    def push(self, piece: Piece) -> Sequence[Piece]:
        """Take the next piece; returns the pieces that may be shown, cut before a stop string."""
        if self.reached:
            return [msgspec.structs.replace(piece, text="")]
        if not self._stops:
            return [piece]
        if self._place != "answer" and (begin := self._answer_begin(piece.text)):
            self._skipped = len(self._held_text()) + begin
        self._held.append(piece)
        text = self._held_text()
        ends = ((at + len(stop), at) for stop in self._stops if (at := text.find(stop, self._skipped)) >= 0)
        found = min(ends, default=None)
        if found is not None:
            self.reached = True
            return self._release(found[1], everything=True)
        return self._release(len(text) - partial_match_length(text[self._skipped :], self._stops))

    def _answer_begin(self, text: str) -> int:
        """Return how many characters of the next text belong to a thought, or stand behind it."""
        begin = 0
        if self._place in ("reply", "opened") and (begun := text.lstrip()):
            self._place = "thought" if begun.startswith(OPENING) else "answer"
        if self._place == "thought":
            end = text.find(CLOSING)
            begin, self._place = (len(text), "thought") if end < 0 else (end + len(CLOSING), None)
        if self._place is None:
            begin = len(text) - len(text[begin:].lstrip())
            self._place = "answer" if begin < len(text) else None
        return begin

    def reached_by(self, text: str) -> bool:
        """Return True if ``text`` after the pieces so far would complete a stop string."""
        text = self._held_text() + text
        return self._place in ("reply", "answer") and any(stop in text[self._skipped :] for stop in self._stops)

    def finish(self) -> Sequence[Piece]:
        """Release the pieces still held back, at the end of the reply."""
        return self._release(len(self._held_text()), everything=True)

    def _held_text(self) -> str:
        return "".join(held.text for held in self._held)

    def _release(self, length: int, everything: bool = False) -> list[Piece]:
        """Pieces within the first ``length`` held characters; with ``everything`` the rest too, cut to that length."""
        released: list[Piece] = []
        while self._held and (everything or len(self._held[0].text) <= length):
            piece = self._held.pop(0)
            released.append(msgspec.structs.replace(piece, text=piece.text[: max(0, length)]))
            length -= len(piece.text)
            self._skipped = max(0, self._skipped - len(piece.text))
        return released
