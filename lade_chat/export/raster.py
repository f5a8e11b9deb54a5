"""A reply or a race drawn: a PNG of all of it, or a GIF that moves at the pace at which it was decoded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO

from PIL import Image

from lade_chat.export.card import Card, card_of
from lade_chat.export.content import Content
from lade_chat.export.fonts import Typeface
from lade_chat.export.layout import Glyph, Line, Viewport, width_of
from lade_chat.export.theme import INKS, Colours, Ink, Theme, fixed, rgb

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


STILL_SIZE, MOVING_SIZE = 26, 15
"""Font sizes in pixels; a still is drawn for screens of twice the density."""
FRAMES_PER_SECOND = 15
MAX_FRAMES = 900
"""A reply of more than a minute has fewer frames a second: a picture is of use only if it can be sent."""
TEXT_ROWS = 24
HOLD_SECONDS = 3.0
"""Display time of the last frame, the only one that is not the reply's own."""


def png(content: Content, theme: Theme, columns: int | None) -> bytes:
    """Everything at the end, with every row."""
    card = card_of(content, columns)
    canvas = Canvas(card, card.text_rows, fixed(theme), STILL_SIZE)
    for row, column, line in card.still():
        canvas.draw(row, column, line)
    file = BytesIO()
    canvas.picture().save(file, "PNG", optimize=True)
    return file.getvalue()


def gif(content: Content, theme: Theme, columns: int | None) -> bytes:
    """The reply as it was written; a text of more than 24 rows scrolls."""
    card = card_of(content, columns)
    moments = _moments(card.seconds)
    frames = _frames(card, moments, theme)
    durations = [round(1000 * (after - moment)) for moment, after in zip(moments, [*moments[1:], 0], strict=True)]
    durations[-1] = round(1000 * HOLD_SECONDS)
    file = BytesIO()
    first = next(frames)
    # Unchanged pixels stay as they were: each frame holds only what is new in it.
    first.save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1)
    return file.getvalue()


def _moments(seconds: float) -> list[float]:
    """Return the start of each frame in whole hundredths of a second, as in GIF, so that rounding cannot add up."""
    end = max(round(100 * seconds), 1)
    count = max(1, min(MAX_FRAMES, int(end * FRAMES_PER_SECOND / 100)))
    return [round(end * frame / count) / 100 for frame in range(count + 1)]


def _frames(card: Card, moments: list[float], theme: Theme) -> Iterator[Image.Image]:
    rows = min(card.text_rows, TEXT_ROWS)
    canvas = Canvas(card, rows, fixed(theme), MOVING_SIZE)
    for row, column, line in card.frame(rows):
        canvas.draw(row, column, line)
    views = [Viewport(pane.lines, rows) for pane in card.panes]
    for moment in moments:
        # The last moment is the end, but for the rounding.
        now = card.seconds if moment == moments[-1] else moment
        for pane, view in zip(card.panes, views, strict=True):
            for row, line in view.advance(now):
                canvas.draw(card.text_row + row, pane.column, line, pane.width)
            for row, line in enumerate(pane.metrics_at(now), start=card.metrics_row(rows)):
                canvas.draw(row, pane.column, line, pane.width)
        if now == card.seconds:
            for row, column, line in card.outcome(rows):
                canvas.draw(row, column, line)
        yield canvas.picture()
