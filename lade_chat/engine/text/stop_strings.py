"""Stop strings: texts that end a reply, however tokens split them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lade_chat.partial_match import partial_match_length
from lade_chat.protocol.values import Piece


class StopStrings:
    """Filters a stream of pieces: cuts it at the first stop string, and holds back text that may begin one.

    The first stop string is the one completed first, so that the result does not depend on token boundaries.
    """

    def __init__(self, stop_strings: Iterable[str]) -> None:
        self._stops = [stop for stop in stop_strings if stop]
        self._held: list[Piece] = []
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
        self._held.append(piece)
        text = self._held_text()
        ends = ((at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0)
        found = min(ends, default=None)
        if found is not None:
            self.reached = True
            return self._release(found[1], everything=True)
        return self._release(len(text) - partial_match_length(text, self._stops))

    def reached_by(self, text: str) -> bool:
        """Return True if ``text`` after the pieces so far would complete a stop string."""
        text = self._held_text() + text
        return any(stop in text for stop in self._stops)

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
        return released
