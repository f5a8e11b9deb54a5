"""What a picture shows: a question, one reply or the two of a race, and how they came out."""

from __future__ import annotations

from dataclasses import dataclass

from lade_chat.export.recording import Recording
from lade_chat.figures import ORIGINS, lookahead_forms, reply_parts
from lade_chat.methods import title
from lade_chat.protocol import ModelInfo, Origin

NAME = "lade-chat"


@dataclass(frozen=True)
class Content:
    """``sides``: one reply, or a race's two, lookahead on first. ``verdict``: a race's outcome in words."""

    question: str
    model: ModelInfo
    sides: tuple[Recording, ...]
    verdict: tuple[str, ...] = ()

    @property
    def is_race(self) -> bool:
        return len(self.sides) > 1

    @property
    def seconds(self) -> float:
        """How long it plays: a race's sides start together, each on its own clock."""
        return max(side.seconds for side in self.sides)

    def origins(self) -> dict[Origin, str]:
        """The legend: every origin that occurs, and what it means."""
        seen = {piece.origin for side in self.sides for piece in side.pieces}
        return {origin: meaning for origin, meaning in ORIGINS.items() if origin in seen}

    def heading(self) -> list[str]:
        """Who answered."""
        return [NAME, self.model.name, self.model.device, self.model.dtype]


def title_of(side: Recording) -> str:
    """``lookahead ON auto``; of a race's side, what its method is called."""
    if side.statistics.contender is not None:
        return title(side.statistics.contender)
    return lookahead_forms(side.statistics.lookahead, side.statistics.sizes)[0]


def figures_of(side: Recording, *, titled: bool) -> list[str]:
    """A reply's figures with their units, all but what its title says."""
    figures = [part.forms[0] for part in reply_parts(side.statistics, side.finish_reason) if part.forms]
    return [figure for figure in figures if not titled or figure != title_of(side)]
