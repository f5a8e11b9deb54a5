"""A film as an asciinema cast (version 2)."""

from __future__ import annotations

import json

from lade_chat.export.film.film import Film, Row, Run
from lade_chat.export.theme import rgb

_RESET = "\x1b[0m"
_NO_CURSOR = "\x1b[?25l"


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
