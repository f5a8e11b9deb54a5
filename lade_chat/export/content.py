"""The content of a picture: a question, recordings of a reply or the two of a race, and the outcome."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from lade_chat.presentation.attachments import folded
from lade_chat.presentation.methods import title
from lade_chat.presentation.metric_words import lookahead_forms, reply_parts
from lade_chat.presentation.race_outcome import winner
from lade_chat.presentation.thought_splitter import AnswerStream
from lade_chat.presentation.token_looks import ColourView, Shown, meanings, shown_as
from lade_chat.protocol.events import ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import FinishReason, ModelInfo, Piece, Statistics


@dataclass
class Recording:
    """A reply, or one side of a race, as its events come in. ``times`` has one entry a piece, and never falls."""

    pieces: list[Piece] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """The time of each piece, in seconds on the reply's own clock."""
    statistics: Statistics = field(default_factory=Statistics)
    finish_reason: FinishReason = "cancelled"
    dropped_messages: int = 0
    _step_ends: list[float] = field(default_factory=list, repr=False)

    def take(self, event: ReplyStarted | Tokens | ReplyFinished) -> None:
        """Add one of the reply's events."""
        if isinstance(event, ReplyStarted):
            self.dropped_messages = event.dropped_messages
            return
        self.statistics = event.statistics
        if isinstance(event, ReplyFinished):
            self.finish_reason = event.finish_reason
            return
        self._step_ends.extend(event.step_seconds)
        self.pieces.extend(event.pieces)
        # An engine need not report the ends of steps.
        known, ends = len(self._step_ends), self._step_ends
        self.times.extend(ends[each.step] if each.step < known else event.statistics.seconds for each in event.pieces)

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    @property
    def seconds(self) -> float:
        """The duration of the reply."""
        return max(self.statistics.seconds, max(self.times, default=0.0))


NAME = "lade-chat"


@dataclass(frozen=True)
class Content:
    """A question with one reply, or with a race's two, without their thoughts; ``verdict``: its outcome in words.

    ``raw``: the replies continue a bare text, in which nothing is a thought.
    """

    question: str
    model: ModelInfo
    sides: tuple[Recording, ...]
    verdict: tuple[str, ...] = ()
    view: ColourView = "sources"
    raw: bool = False

    def __post_init__(self) -> None:
        if self.raw:
            return
        # The pieces of a thought are empty, and keep their times.
        answers = [list(AnswerStream().push(side.pieces, final=True)) for side in self.sides]
        sides = (replace(side, pieces=pieces) for side, pieces in zip(self.sides, answers, strict=True))
        object.__setattr__(self, "sides", tuple(sides))

    @property
    def asked(self) -> str:
        """The question as pictures show it: attached files only by name and length."""
        return folded(self.question)

    @property
    def is_race(self) -> bool:
        return len(self.sides) > 1

    @property
    def is_won(self) -> bool:
        """True if the left side of a finished race was faster, with the same text."""
        if not self.is_race or any(side.finish_reason == "cancelled" for side in self.sides):
            return False
        left, right = self.sides
        statistics = left.statistics, right.statistics
        speedup = right.statistics.seconds / left.statistics.seconds if left.statistics.seconds > 0 else 0.0
        return left.text == right.text and winner(speedup, statistics) == "left"

    @property
    def seconds(self) -> float:
        """The playing time; a race's sides start together, each on its own clock."""
        return max(side.seconds for side in self.sides)

    def shown_as(self, piece: Piece) -> Shown:
        """Return the look of a token in this view."""
        return shown_as(piece.origin, self.view)

    def legend(self) -> dict[Shown, str]:
        """Every look of a token here, and its meaning."""
        seen = {self.shown_as(piece) for side in self.sides for piece in side.pieces}
        return {shown: meaning for shown, meaning in meanings(self.view).items() if shown in seen}

    def heading(self) -> list[str]:
        """Return the name of the model that answered."""
        return [NAME, self.model.name, self.model.device, self.model.dtype]


def title_of(side: Recording) -> str:
    """``lookahead ON auto``; for a side of a race, the name of its method."""
    if side.statistics.method is not None:
        return title(side.statistics.method)
    return lookahead_forms(side.statistics.lookahead, side.statistics.sizes)[0]


def metrics_of(side: Recording, *, titled: bool) -> list[str]:
    """A reply's metrics with their units, all but what its title says."""
    metrics = [part.forms[0] for part in reply_parts(side.statistics, side.finish_reason) if part.forms]
    return [metric for metric in metrics if not titled or metric != title_of(side)]
