"""A film of a terminal's screen: what its rows showed, and when; and its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from lade_chat.export.picture import PictureFormatError, check_picture, write_file

Mark: TypeAlias = Literal["", "underline", "strike"]


class Run(NamedTuple):
    """Characters of one look; colours as ``#rrggbb``."""

    text: str
    ink: str
    ground: str
    bold: bool = False
    mark: Mark = ""


Row: TypeAlias = tuple[Run, ...]


class Frame(NamedTuple):
    """The rows that are others than in the frame before, by their place; ``seconds`` since the first frame."""

    seconds: float
    rows: Mapping[int, Row]


@dataclass
class Film:
    """The frames that a screen of ``columns`` by ``rows`` cells showed in ``seconds``."""

    columns: int
    rows: int
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0.0


def check_film(path: Path) -> None:
    """Raise LadeChatError if no film can be written there; PictureFormatError if only its suffix is wrong."""
    if path.suffix.lower() != ".gif":
        raise PictureFormatError(f"A film is written as .gif, not as {path.name or path}.")
    check_picture(path)


def write_film(path: Path, film: Film) -> None:
    """Write the film whole or not at all. Raises LadeChatError."""
    check_film(path)
    from lade_chat.export.film_gif import film_gif

    write_file(path, film_gif(film))
