"""A reply or a race as an asciinema cast (version 2), played at the pace at which it was decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.color import ColorSystem

from lade_chat.export.card import TEXT_ROWS, Card, Film
from lade_chat.export.content import Content
from lade_chat.export.theme import Theme, fixed
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR

_NO_CURSOR, _CURSOR = "\x1b[?25l", "\x1b[?25h"


def cast(content: Content, theme: Theme) -> bytes:
    """Return the cast: a header, then what is written when, a line of JSON each."""
    card = Card(content)
    moments = sorted({0.0, *(moment for pane in card.panes for moment in (*pane.times, pane.seconds))})
    film = card.film(fixed(theme), moments, min(card.text_rows, TEXT_ROWS))
    question = " ".join(printable(content.asked).split())
    title = SEPARATOR.join(filter(None, (content.heading()[0], question[:80])))
    header = {
        "version": 2,
        "width": film.columns,
        "height": film.rows,
        "title": title,
        "env": {"TERM": "xterm-256color"},
    }
    lines = [header, *([round(moment, 6), "o", text] for moment, text in _events(film))]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _events(film: Film) -> Iterator[tuple[float, str]]:
    """Yield the rows that change, each at its place."""
    for number, frame in enumerate(film.frames):
        # Text has a style, whose colours are both set, since a player may have its own theme.
        inked = {
            place: "".join(run.style.render(run.text, color_system=ColorSystem.TRUECOLOR) for run in row if run.style)
            for place, row in frame.rows.items()
        }
        rows = "".join(f"\x1b[{place + 1};1H{text}" for place, text in inked.items())
        yield frame.seconds, rows if number else _NO_CURSOR + rows
    yield film.seconds, f"\x1b[0m\x1b[{film.rows};1H{_CURSOR}"
