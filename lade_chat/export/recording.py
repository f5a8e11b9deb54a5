"""A reply as it was decoded: its pieces, and the moment at which each was settled."""

from __future__ import annotations

from dataclasses import dataclass, field

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import FinishReason, Piece, Statistics


@dataclass
class Recording:
    """A reply, or one side of a race, as its events come in. ``times`` has one entry a piece, and never falls."""

    pieces: list[Piece] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When each piece was settled, in seconds on the reply's own clock."""
    statistics: Statistics = field(default_factory=Statistics)
    finish_reason: FinishReason = "cancelled"
    _step_ends: list[float] = field(default_factory=list, repr=False)

    def take(self, event: Tokens | ReplyFinished) -> None:
        """Note one more of the reply's events."""
        self.statistics = event.statistics
        if isinstance(event, ReplyFinished):
            self.finish_reason = event.finish_reason
            return
        self._step_ends.extend(event.step_seconds)
        self.pieces.extend(event.pieces)
        self.times.extend(self._moment(piece, event.statistics.seconds) for piece in event.pieces)

    def _moment(self, piece: Piece, told: float) -> float:
        """The end of the piece's step; of an engine that does not tell it, the moment that its batch tells."""
        return self._step_ends[piece.step] if piece.step < len(self._step_ends) else told

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def seconds(self) -> float:
        """What the reply took."""
        return max(self.statistics.seconds, max(self.times, default=0.0))
