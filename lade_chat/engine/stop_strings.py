"""Stop strings: where a reply ends because of what it says, however tokens split it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lade_chat.protocol.values import Piece


class StopStrings:
    """Lets pieces through up to the first stop string; what may yet become one is held back.

    The first is the one that is complete first, so that the text does not depend on how tokens split it.
    """

    def __init__(self, stop_strings: Iterable[str]) -> None:
        self._stops = [stop for stop in stop_strings if stop]
        self._held: list[Piece] = []
        self.reached = False

    def __bool__(self) -> bool:
        """Whether there is anything to stop at."""
        return bool(self._stops)

    def push(self, piece: Piece) -> Sequence[Piece]:
        """Take the next piece, unless a stop string was reached; returns those that may be shown, cut before one."""
        if not self._stops:
            return [piece]
        self._held.append(piece)
        text = self._held_text()
        ends = ((at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0)
        found = min(ends, default=None)
        if found is not None:
            self.reached = True
            return self._release(found[1], everything=True)
        return self._release(len(text) - self._may_become_a_stop(text))

    def reached_by(self, text: str) -> bool:
        """Whether a stop string would be complete with ``text`` behind what has been pushed."""
        text = self._held_text() + text
        return any(stop in text for stop in self._stops)

    def finish(self) -> Sequence[Piece]:
        """What is still held back, when no more will come."""
        return self._release(len(self._held_text()), everything=True)

    def _held_text(self) -> str:
        return "".join(held.text for held in self._held)

    def _may_become_a_stop(self, text: str) -> int:
        """The length of the longest end of the text that a stop string begins with."""
        longest = max(len(stop) for stop in self._stops) - 1
        for length in range(min(longest, len(text)), 0, -1):
            if any(stop.startswith(text[-length:]) for stop in self._stops):
                return length
        return 0

    def _release(self, length: int, everything: bool = False) -> list[Piece]:
        """Pieces within the first ``length`` characters held; with ``everything`` the rest too, cut to them."""
        released: list[Piece] = []
        while self._held and (everything or len(self._held[0].text) <= length):
            piece = self._held.pop(0)
            released.append(msgspec.structs.replace(piece, text=piece.text[: max(0, length)]))
            length -= len(piece.text)
        return released
