"""A reply or a race as an asciinema cast (version 2), played at the pace at which it was decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from lade_chat.export.card import REPLY_COLUMNS, Card, card_of, stretches
from lade_chat.export.content import Content, metrics_of
from lade_chat.export.layout import Line, Viewport, runs, width_of
from lade_chat.export.theme import Colours, Ink, Theme, fixed, rgb
from lade_chat.presentation.metrics import SEPARATOR, pack
from lade_chat.presentation.sanitize import printable

ROWS = 24
"""The rows of a reply's terminal, and of the texts of a race, which has more below them."""
_RESET = "\x1b[0m"
_NO_CURSOR, _CURSOR = "\x1b[?25l", "\x1b[?25h"


def cast(content: Content, theme: Theme, columns: int | None) -> bytes:
    """The cast: a header, then what is written when, a line of JSON each."""
    colours = fixed(theme)
    if content.is_race:
        card = card_of(content, columns)
        size = (card.columns, card.rows(min(card.text_rows, ROWS)))
        events = _race(card, colours)
    else:
        size = (columns or REPLY_COLUMNS, ROWS)
        events = _reply(content, colours, size[0])
    question = " ".join(printable(content.asked).split())
    title = SEPARATOR.join(filter(None, (content.heading()[0], question[:80])))
    in_colours = {"fg": colours.text, "bg": colours.ground, "palette": ":".join(colours.sixteen)}
    header = {
        "version": 2,
        "width": size[0],
        "height": size[1],
        "title": title,
        "env": {"TERM": "xterm-256color"},
        "theme": in_colours,
    }
    lines = [header, *([round(moment, 6), "o", text] for moment, text in events)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _reply(content: Content, colours: Colours, columns: int) -> Iterator[tuple[float, str]]:
    """Write the reply as ``lade-chat ask`` does: the terminal breaks the lines, and a step's tokens come together."""
    [side] = content.sides
    if question := " ".join(printable(content.asked).split()):
        yield 0.0, f"{_inked(f'> {question}', 'question', colours)}\r\n\r\n"
    for moment, group in groupby(stretches(content, side), key=lambda stretch: stretch[2]):
        parts = ((ink, "".join(piece for piece, *_ in same)) for ink, same in groupby(group, key=lambda part: part[1]))
        text = "".join(_inked(printable(part), ink, colours) for ink, part in parts)
        if text:
            yield moment, text
    lines = pack(metrics_of(side, titled=False), columns).split("\n")
    yield side.seconds, "\r\n\r\n" + "".join(f"{_inked(line, 'dim', colours)}\r\n" for line in lines)


def _race(card: Card, colours: Colours) -> Iterator[tuple[float, str]]:
    """Two texts side by side, each on its own clock; only the rows that change are written."""
    height = min(card.text_rows, ROWS)
    views = [Viewport(pane.lines, height) for pane in card.panes]
    yield (
        0.0,
        _NO_CURSOR
        + _rule(card, height, colours)
        + "".join(_placed(row, column, line, 0, colours) for row, column, line in card.frame(height)),
    )
    before = -1.0
    for moment in sorted({moment for pane in card.panes for moment in (*pane.times, pane.seconds)}):
        written = []
        for pane, view in zip(card.panes, views, strict=True):
            placed = [(card.text_row + row, line) for row, line in view.advance(moment)]
            if before < pane.seconds:
                placed += enumerate(pane.metrics_at(moment), start=card.metrics_row(height))
            written += [_placed(row, pane.column, line, pane.width, colours) for row, line in placed]
        yield moment, "".join(written)
        before = moment
    outcome = (_placed(row, column, line, 0, colours) for row, column, line in card.outcome(height))
    yield card.seconds, f"{''.join(outcome)}\x1b[{card.rows(height)};1H{_CURSOR}"


def _rule(card: Card, height: int, colours: Colours) -> str:
    """The line between the two texts, from their titles to their metrics."""
    if card.divider is None:
        return ""
    ink = _sgr(38, colours.rule)
    rows = range(card.text_row - 2, card.verdict_row(height) - 1)
    return "".join(f"\x1b[{row + 1};{int(card.divider) + 1}H{ink}│{_RESET}" for row in rows)


def _placed(row: int, column: int, line: Line, width: int, colours: Colours) -> str:
    """A line at its place, over whatever stood there in ``width`` cells."""
    written = [f"\x1b[{row + 1};{column + 1}H"]
    for run in runs(line):
        place = column + run.column
        for several, group in groupby(run.glyphs, key=lambda glyph: len(glyph.text) > 1):
            glyphs = tuple(group)
            place += width_of(glyphs)
            written.append(_inked("".join(glyph.text for glyph in glyphs), run.ink, colours))
            if several:  # players differ in how wide they take an emoji of several characters to be
                written.append(f"\x1b[{place + 1}G")
    return "".join(written) + " " * (width - width_of(line))


def _inked(text: str, ink: Ink, colours: Colours) -> str:
    """Text in its colours. A tinted line break would colour the rest of its line."""
    if ink == "plain":
        return text.replace("\n", "\r\n")
    foreground, ground = colours.of(ink)
    # Both colours of a tint are set, since a player may have its own theme.
    start = _sgr(38, foreground) + (_sgr(48, ground) if ground != colours.ground else "")
    return "\r\n".join(f"{start}{part}{_RESET}" if part else "" for part in text.split("\n"))


def _sgr(layer: int, colour: str) -> str:
    red, green, blue = rgb(colour)
    return f"\x1b[{layer};2;{red};{green};{blue}m"
