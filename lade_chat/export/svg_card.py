"""A reply or a race as SVG: a card of monospaced text that can be selected, in whatever font the reader has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from lade_chat.export.card import Card, Line, glyphs
from lade_chat.export.content import Content
from lade_chat.export.theme import ALL_INKS, DARK, LIGHT, Colours, Theme, fixed
from lade_chat.presentation.sanitize import safe

CELL = 8.4
"""A cell's width: six tenths of the font's size, as in most monospaced fonts."""
SIZE = 14
ROW = 20
MARGIN = 16
_BASELINE = 14.5
_FONTS = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace"
_EDGE_OR_SEVERAL = re.compile(r"^ +| +$| {2,}")


def svg_card(content: Content, theme: Theme) -> bytes:
    """Return the picture. In a browser ``auto`` follows the reader's preference; elsewhere it is dark."""
    card = Card(content)
    rows = card.rows(card.seconds, card.text_rows)
    width, height = _n(card.columns * CELL + 2 * MARGIN), _n(len(rows) * ROW + 2 * MARGIN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{safe(' '.join(content.asked.split())[:80] or content.heading()[0])}</title>",
        f"<style>\n{_style(theme)}</style>",
        f'<rect class="ground" width="{width}" height="{height}" rx="8"/>',
        '<g xml:space="preserve">',
        *(part for row, line in enumerate(rows) for part in _row(MARGIN + row * ROW, line)),
        "</g>",
        "</svg>\n",
    ]
    return "\n".join(parts).encode()


def _row(top: float, line: Line) -> Iterator[str]:
    """Yield a row's grounds, then its text as one element, so that it is selected and copied as one line.

    Every run has its place and its width, so that other fonts keep the columns.
    """
    x, spans, kept = float(MARGIN), [], "\N{NO-BREAK SPACE}"
    inked = ((part.ink, cells, glyph) for part in line for glyph, cells in glyphs(part.text))
    for (ink, _), group in groupby(inked, key=lambda each: (each[0], each[1] == 2)):
        run = list(group)
        text = "".join(glyph for _, _, glyph in run)
        width = sum(cells for _, cells, _ in run) * CELL
        if ink in DARK.tints or ink == "title":
            yield f'<rect class="{ink}" x="{_n(x)}" y="{_n(top)}" width="{_n(width)}" height="{ROW}"/>'
        # Renderers may drop trailing spaces, and all but one of several, unless they are no-break.
        spaced = safe(_EDGE_OR_SEVERAL.sub(lambda spaces: kept * len(spaces[0]), text))
        fill = f' class="{ink}"' if ink in _TEXT_INKS else ""
        spans.append(
            f'<tspan x="{_n(x)}"{fill} textLength="{_n(width)}" lengthAdjust="spacingAndGlyphs">{spaced}</tspan>'
        )
        x += width
    yield f'<text x="{MARGIN}" y="{_n(top + _BASELINE)}">{"".join(spans) or kept}</text>'


_TEXT_INKS = ("dim", "question", "verdict", "rule")
"""Inks with a text colour of their own; tokens share one."""


def _style(theme: Theme) -> str:
    """Plain rules first, for the programs that know no others: neither variables, nor media, nor several fonts."""
    fonts = f"text {{ font-family: monospace; font-size: {SIZE}px; white-space: pre }}\n"
    fonts += f"@media all {{ text {{ font-family: {_FONTS} }} }}\nrect {{ shape-rendering: crispEdges }}\n"
    if theme != "auto":
        return fonts + _rules(fixed(theme))
    return f"{fonts}{_rules(DARK)}@media (prefers-color-scheme: light) {{\n{_rules(LIGHT)}}}\n"


def _rules(colours: Colours) -> str:
    fills = {".ground": colours.ground, "rect.title": colours.bar, "text": colours.text}
    fills |= {f".{shown}": tint for shown, tint in colours.tints.items()}
    fills |= {f".{ink}": colours.of(ink)[0] for ink in ALL_INKS if ink in _TEXT_INKS}
    return "".join(f"{selector} {{ fill: {colour} }}\n" for selector, colour in fills.items())


def _n(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
