"""Draws rows of a picture into an image with a palette: a few shades from each ground to the text upon it."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image

from lade_chat.export.card import Card
from lade_chat.export.fonts import Typeface
from lade_chat.export.layout import Glyph, Line, width_of
from lade_chat.export.theme import INKS, Colours, Ink, rgb

SHADES = 8
"""Steps from a ground to its text. Nine inks of them and the rule leave most of a GIF's colours unused."""
_RULE = len(INKS) * SHADES


class Canvas:
    """A picture of a card with room for ``text_rows`` rows of its texts."""

    def __init__(self, card: Card, text_rows: int, colours: Colours, size: int) -> None:
        self.card, self.text_rows = card, text_rows
        self._face = Typeface(size)
        self._margin = self._face.row
        self._tiles: dict[tuple[str, int, Ink], Image.Image] = {}
        self._strip = lru_cache(maxsize=2 * text_rows)(self._drawn)  # a text that scrolls draws its rows again
        width = card.columns * self._face.cell + 2 * self._margin
        height = card.rows(text_rows) * self._face.row + 2 * self._margin
        self._palette = _palette(colours)
        # Places in the palette, kept as if they were greys: so Pillow has nothing to convert when it draws.
        self._image = Image.new("L", (width, height), _shade("plain", 0))
        self._image.paste(_shade("title", 0), (0, 0, width, 2 * self._face.row))
        if card.divider is not None:
            left = self._margin + round(card.divider * self._face.cell)
            top, bottom = (self._top(row) for row in (card.text_row - 2, card.verdict_row(text_rows) - 1))
            self._image.paste(_RULE, (left, top, left + 1, bottom))

    def picture(self) -> Image.Image:
        """Return the picture so far, in its colours."""
        picture = self._image.copy()
        picture.putpalette(self._palette)
        return picture

    def draw(self, row: int, column: int, line: Line, width: int = 0) -> None:
        """Draw a line over ``width`` cells."""
        strip = self._strip(line, max(width, width_of(line)))
        self._image.paste(strip, (self._margin + column * self._face.cell, self._top(row)))

    def _drawn(self, line: Line, width: int) -> Image.Image:
        strip = Image.new("L", (width * self._face.cell, self._face.row), _shade("plain", 0))
        left = 0
        for glyph in line:
            if glyph.width:
                tile = self._tile(glyph)
                strip.paste(tile, (left, 0))
                left += tile.width
        return strip

    def _tile(self, glyph: Glyph) -> Image.Image:
        key = (glyph.text, glyph.width, glyph.ink)
        if key not in self._tiles:
            first = _shade(glyph.ink, 0)
            table = [first + (ink * (SHADES - 1) + 127) // 255 for ink in range(256)]
            self._tiles[key] = self._face.tile(glyph.text, glyph.width).point(table)
        return self._tiles[key]

    def _top(self, row: int) -> int:
        """The heading stands in the middle of its bar."""
        return self._margin + row * self._face.row if row else self._face.row // 2


def _shade(ink: Ink, shade: int) -> int:
    return INKS.index(ink) * SHADES + shade


def _palette(colours: Colours) -> list[int]:
    palette: list[int] = []
    for ink in INKS:
        text, ground = (rgb(colour) for colour in colours.of(ink))
        for shade in range(SHADES):
            part = shade / (SHADES - 1)
            palette.extend(round(low + (high - low) * part) for low, high in zip(ground, text, strict=True))
    return [*palette, *rgb(colours.rule)]
