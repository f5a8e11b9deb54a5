"""A film of a terminal's screen: what its rows showed, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rich.segment import Segment

FilmRow: TypeAlias = tuple[Segment, ...]


class Frame(NamedTuple):
    """The rows that differ from the frame before, by position; ``seconds`` since the first frame."""

    seconds: float
    rows: Mapping[int, FilmRow]


@dataclass
class Film:
    """The frames that a screen of ``columns`` by ``rows`` cells showed in ``seconds``."""

    columns: int
    rows: int
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0.0
