"""A film as an animated GIF: each frame holds only what is new in it."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise

from PIL import Image, ImageDraw
from rich.cells import cell_len

from lade_chat.export.film.film import Film, Row, Run
from lade_chat.export.film.palette import Palette
from lade_chat.export.fonts import Typeface

FONT_SIZE = 14
HOLD_SECONDS = 3.0
"""Display time of the last frame."""


def film_gif(film: Film) -> bytes:
    """Draw every frame with one palette."""
    canvas = _Canvas(film)
    moments = [frame.seconds for frame in film.frames]
    ends = [*moments[1:], max(film.seconds, moments[-1]) + HOLD_SECONDS]
    # In whole hundredths of a second, as a GIF counts, so that rounding cannot add up.
    starts = [round(100 * moment) for moment in (*moments, ends[-1])]
    durations = [10 * max(2, after - start) for start, after in pairwise(starts)]
    frames = canvas.frames()
    file = BytesIO()
    next(frames).save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1)
    return file.getvalue()


class _Canvas:
    """The screen, row by row; places in the palette are kept as if they were greys."""

    def __init__(self, film: Film) -> None:
        self._film = film
        self._face, self._bold = Typeface(FONT_SIZE), Typeface(FONT_SIZE, bold=True)
        self._palette = Palette(film)
        self._colours = self._palette.flat()
        self._tiles: dict[tuple[str, Run], Image.Image] = {}
        self._image = Image.new("L", (film.columns * self._face.cell, film.rows * self._face.row))

    def frames(self) -> Iterator[Image.Image]:
        """The screen after each frame."""
        for frame in self._film.frames:
            for place, row in frame.rows.items():
                self._draw(place, row)
            picture = self._image.copy()
            picture.putpalette(self._colours)
            yield picture

    def _draw(self, place: int, row: Row) -> None:
        column = 0
        for run in row:
            for character in run.text:
                if width := cell_len(character):
                    self._image.paste(self._tile(character, width, run), (column, place * self._face.row))
                    column += width * self._face.cell

    def _tile(self, character: str, width: int, run: Run) -> Image.Image:
        key = (character, run._replace(text=""))
        if key not in self._tiles:
            tile = (self._bold if run.bold else self._face).tile(character, width)
            if run.mark:
                line = round(self._face.row * (0.55 if run.mark == "strike" else 0.9))
                ImageDraw.Draw(tile).line((0, line, tile.width, line), fill=255)
            self._tiles[key] = tile.point(self._palette.table((run.ink, run.ground)))
        return self._tiles[key]
