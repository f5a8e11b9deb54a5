"""A reply or a race as SVG: a card of monospaced text that can be selected, in whatever font the reader has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from lade_chat.export.card import Card, card_of
from lade_chat.export.content import Content
from lade_chat.export.layout import Glyph, Line, runs, width_of
from lade_chat.export.theme import DARK, INKS, LIGHT, Colours, Theme
from lade_chat.presentation.sanitize import safe

CELL = 8.4
"""A cell's width: six tenths of the font's size, as in most monospaced fonts."""
SIZE = 14
ROW = 20
MARGIN = 16
_BASELINE = 14.5
_BAR = ROW + MARGIN
_FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
_EDGE_OR_SEVERAL = re.compile(r"^ +| +$| {2,}")


def svg_card(content: Content, theme: Theme, columns: int | None) -> bytes:
    """The picture. In a browser ``auto`` follows the reader's preference; where that is not known it is dark."""
    card = card_of(content, columns)
    width, height = _n(card.columns * CELL + 2 * MARGIN), _n(card.rows(card.text_rows) * ROW + 2 * MARGIN)
    title = " ".join(content.asked.split())[:80] or content.heading()[0]
    lines = list(card.still())
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{safe(title)}</title>",
        f"<style>\n{_style(theme)}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        f'<path class="bar" d="M0 {_BAR}V8a8 8 0 0 1 8-8H{_n(float(width) - 8)}a8 8 0 0 1 8 8V{_BAR}Z"/>',
        *_divider(card),
        *(ground for row, column, line in lines for ground in _grounds(row, column, line)),
        '<g xml:space="preserve">',
        *(_text(row, column, line) for row, column, line in lines),
        "</g>",
        "</svg>\n",
    ]
    return "\n".join(parts).encode()


def _divider(card: Card) -> Iterator[str]:
    if card.divider is not None:
        top, rows = _top(card.text_row - 2), card.verdict_row(card.text_rows) - card.text_row + 1
        yield f'<rect class="rule" x="{_n(_left(card.divider))}" y="{_n(top)}" width="1" height="{rows * ROW}"/>'


def _grounds(row: int, column: int, line: Line) -> Iterator[str]:
    for run in runs(line):
        if run.ink in DARK.tints:
            x, width = _n(_left(column + run.column)), _n(run.width * CELL)
            yield f'<rect class="{run.ink}" x="{x}" y="{_n(_top(row))}" width="{width}" height="{ROW}"/>'


def _text(row: int, column: int, line: Line) -> str:
    """A row as one element, so that it is selected and copied as one line.

    Its width is explicit, so that other fonts keep it. A wide character may come from any font: it is centred in its
    cells, and the text behind it begins at its own cells.
    """
    place = f'y="{_n(_top(row) + _BASELINE)}"'
    if not line:
        return f'<text x="{_n(_left(column))}" {place}>{_NO_BREAK_SPACE}</text>'
    kinds = {_kind(glyph) for glyph in line}
    if len(kinds) > 1 or any(wide for wide, _ in kinds):
        return f"<text {place}>{''.join(_segments(column, line))}</text>"
    [(_, ink)] = kinds
    return f'<text x="{_n(_left(column))}" {place}{_class(ink)}{_length(line)}>{_spaced(line)}</text>'


def _segments(column: int, line: Line) -> Iterator[str]:
    for (wide, ink), group in groupby(line, key=_kind):
        glyphs = tuple(group)
        for part in [(glyph,) for glyph in glyphs] if wide else [glyphs]:
            middle = ' text-anchor="middle"' if wide else _length(part)
            x = _n(_left(column + (1 if wide else 0)))
            yield f'<tspan x="{x}"{middle}{_class(ink)}>{_spaced(part)}</tspan>'
            column += width_of(part)


def _kind(glyph: Glyph) -> tuple[bool, str]:
    """Return whether a glyph is wide, and the class of its text; all tokens share one text colour."""
    return glyph.width == 2, glyph.ink if glyph.ink in ("dim", "question", "verdict") else ""


def _class(ink: str) -> str:
    return f' class="{ink}"' if ink else ""


def _length(line: Line) -> str:
    return f' textLength="{_n(width_of(line) * CELL)}" lengthAdjust="spacingAndGlyphs"'


def _spaced(line: Line) -> str:
    """The text; what draws SVG may drop the spaces at an end and all but one of several, unless they are no-break."""
    text = "".join(glyph.text for glyph in line)
    return safe(_EDGE_OR_SEVERAL.sub(lambda spaces: _NO_BREAK_SPACE * len(spaces[0]), text))


def _left(column: float) -> float:
    return MARGIN + column * CELL


def _top(row: int) -> float:
    """The heading stands in the middle of its bar."""
    return MARGIN + row * ROW if row else (_BAR - ROW) / 2


def _style(theme: Theme) -> str:
    """Plain rules first, for the programs that know no others: neither variables, nor media, nor several fonts."""
    fonts = f"text {{ font-family: monospace; font-size: {SIZE}px; white-space: pre }}\n"
    fonts += f"@media all {{ text {{ font-family: {_FONTS} }} }}\nrect {{ shape-rendering: crispEdges }}\n"
    if theme != "auto":
        return fonts + _rules(LIGHT if theme == "light" else DARK)
    return f"{fonts}{_rules(DARK)}@media (prefers-color-scheme: light) {{\n{_rules(LIGHT)}}}\n"


def _rules(colours: Colours) -> str:
    fills = {".ground": colours.ground, ".bar": colours.bar, ".rule": colours.rule, "text": colours.text}
    fills |= {f".{shown}": tint for shown, tint in colours.tints.items()}
    fills |= {f".{ink}": colours.of(ink)[0] for ink in INKS if ink in ("dim", "question", "verdict")}
    return "".join(f"{selector} {{ fill: {colour} }}\n" for selector, colour in fills.items())


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
