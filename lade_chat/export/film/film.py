"""A film of a terminal's screen, and the asciinema cast (version 2) that plays it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from lade_chat.atomic_write import atomic_write
from lade_chat.errors import LadeChatError
from lade_chat.export.picture import PictureFormatError, check_picture
from lade_chat.export.theme import rgb

_RESET = "\x1b[0m"
_NO_CURSOR = "\x1b[?25l"


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
    title: str
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0.0


def film_cast(film: Film) -> bytes:
    """The cast: a header, then what is written when, a line of JSON each."""
    header = {
        "version": 2,
        "width": film.columns,
        "height": film.rows,
        "title": film.title,
        "env": {"TERM": "xterm-256color"},
    }
    lines: list[object] = [header]
    for number, frame in enumerate(film.frames):
        written = "".join(f"\x1b[{place + 1};1H{_inked(row)}" for place, row in sorted(frame.rows.items()))
        lines.append([round(frame.seconds, 3), "o", ("" if number else _NO_CURSOR) + written])
    lines.append([round(film.seconds, 3), "o", ""])
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _inked(row: Row) -> str:
    return "".join(_sgr(run) + run.text for run in row) + _RESET


def _sgr(run: Run) -> str:
    codes = ["0", *(["1"] if run.bold else []), *({"underline": ["4"], "strike": ["9"]}.get(run.mark, []))]
    for layer, colour in ((38, run.ink), (48, run.ground)):
        codes += [str(layer), "2", *map(str, rgb(colour))]
    return f"\x1b[{';'.join(codes)}m"


def _gif(film: Film) -> bytes:
    from lade_chat.export.film.gif import film_gif

    return film_gif(film)


WRITERS: dict[str, Callable[[Film], bytes]] = {".cast": film_cast, ".gif": _gif}


def check_film(path: Path) -> None:
    """Raise LadeChatError if no film can be written there; PictureFormatError if only its suffix is wrong."""
    if path.suffix.lower() not in WRITERS:
        raise PictureFormatError(f"A film is written as {' or '.join(WRITERS)}, and {path.name or path} is neither.")
    check_picture(path)


def write_film(path: Path, film: Film) -> None:
    """Write the film in the format of the file's suffix, whole or not at all. Raises LadeChatError."""
    check_film(path)
    try:
        atomic_write(path, WRITERS[path.suffix.lower()](film), private=False)
    except OSError as error:
        raise LadeChatError(f"{path} cannot be written: {error.strerror or error}.") from None
