"""A recording of a reply: its pieces and their times."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

from lade_chat.presentation.thoughts import AnswerStream
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import FinishReason, Piece, Statistics


@dataclass
class Recording:
    """A reply, or one side of a race, as its events come in. ``times`` has one entry a piece, and never falls."""

    pieces: list[Piece] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """The time of each piece, in seconds on the reply's own clock."""
    statistics: Statistics = field(default_factory=Statistics)
    finish_reason: FinishReason = "cancelled"
    _step_ends: list[float] = field(default_factory=list, repr=False)

    def take(self, event: Tokens | ReplyFinished) -> None:
        """Add one of the reply's events."""
        self.statistics = event.statistics
        if isinstance(event, ReplyFinished):
            self.finish_reason = event.finish_reason
            return
        self._step_ends.extend(event.step_seconds)
        self.pieces.extend(event.pieces)
        self.times.extend(self._moment(piece, event.statistics.seconds) for piece in event.pieces)

    def _moment(self, piece: Piece, fallback: float) -> float:
        """Return the end of the piece's step, or the ``fallback`` of an engine that does not report it."""
        return self._step_ends[piece.step] if piece.step < len(self._step_ends) else fallback

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def without_thought(self) -> Self:
        """Return the recording with the pieces of the thought empty; they keep their times."""
        return replace(self, pieces=list(AnswerStream().push(self.pieces, final=True)))

    @property
    def seconds(self) -> float:
        """The duration of the reply."""
        return max(self.statistics.seconds, max(self.times, default=0.0))
