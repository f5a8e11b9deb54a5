"""Stop strings: where a reply ends because of what it says, however tokens split it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from lade_chat.protocol import Piece


class StopStrings:
    """Lets pieces through up to the first stop string; what may yet become one is held back."""

    def __init__(self, stop_strings: Iterable[str]) -> None:
        self._stops = [stop for stop in stop_strings if stop]
        self._held: list[Piece] = []
        self.reached = False

    def push(self, piece: Piece) -> Sequence[Piece]:
        """Take the next piece; returns those that may be shown, the stop string and all behind it cut off."""
        if self.reached:
            return [_without_text(piece)]
        if not self._stops:
            return [piece]
        self._held.append(piece)
        text = "".join(held.text for held in self._held)
        found = min((at for stop in self._stops if (at := text.find(stop)) >= 0), default=None)
        if found is not None:
            self.reached = True
            return self._release(found, everything=True)
        return self._release(len(text) - self._may_become_a_stop(text))

    def finish(self) -> Sequence[Piece]:
        """What is still held back, when no more will come."""
        return self._release(sum(len(held.text) for held in self._held), everything=True)

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


def _without_text(piece: Piece) -> Piece:
    return msgspec.structs.replace(piece, text="")
