"""A film as an asciinema cast (version 2)."""

from __future__ import annotations

from collections.abc import Iterator

from lade_chat.export.cast import cast_file
from lade_chat.export.film.film import Film, Row, Run
from lade_chat.export.theme import rgb

_RESET = "\x1b[0m"
_NO_CURSOR = "\x1b[?25l"


def film_cast(film: Film) -> bytes:
    """The cast, whose frames hold the rows that are new in them."""
    return cast_file((film.columns, film.rows), film.title, _written(film))


def _written(film: Film) -> Iterator[tuple[float, str]]:
    for number, frame in enumerate(film.frames):
        written = "".join(f"\x1b[{place + 1};1H{_inked(row)}" for place, row in sorted(frame.rows.items()))
        yield frame.seconds, ("" if number else _NO_CURSOR) + written
    yield film.seconds, ""


def _inked(row: Row) -> str:
    return "".join(_sgr(run) + run.text for run in row) + _RESET


def _sgr(run: Run) -> str:
    codes = ["0", *(["1"] if run.bold else []), *({"underline": ["4"], "strike": ["9"]}.get(run.mark, []))]
    for layer, colour in ((38, run.ink), (48, run.ground)):
        codes += [str(layer), "2", *map(str, rgb(colour))]
    return f"\x1b[{';'.join(codes)}m"
