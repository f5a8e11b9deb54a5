"""A film as an animated GIF: one palette, and each frame holds only what is new in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from typing import TypeAlias

from PIL import Image, ImageDraw
from rich.cells import cell_len

from lade_chat.export.film import Film, Row, Run
from lade_chat.export.fonts import Typeface
from lade_chat.export.theme import rgb

MAX_COLOURS = 255
"""One of a GIF's colours is left for what has not changed."""
MAX_SHADES = 8
"""Colours of a character, from the ground to the text, whose edges lie between them."""
Look: TypeAlias = tuple[str, str]
"""The colours of a text and of the ground below it."""
_Colour: TypeAlias = tuple[int, int, int]


class Palette:
    """At most :data:`MAX_COLOURS` colours, and where those of each look stand among them."""

    def __init__(self, film: Film) -> None:
        cells = Counter[Look]()
        for frame in film.frames:
            for row in frame.rows.values():
                for run in row:
                    cells[run.ink, run.ground] += len(run.text)
        for shades in range(MAX_SHADES, 1, -1):  # looks share colours, so that many of them may have all shades
            self._ramps = {look: _ramp(look, shades) for look in cells}
            colours = {colour for ramp in self._ramps.values() for colour in ramp}
            if len(colours) <= MAX_COLOURS:
                break
        else:
            similar = _similar(self._ramps, cells)
            self._ramps = {look: [similar[colour] for colour in ramp] for look, ramp in self._ramps.items()}
            colours = set(similar.values())
        self._places = {colour: place for place, colour in enumerate(sorted(colours))}

    def flat(self) -> list[int]:
        """Return red, green and blue of every colour in turn, as Pillow takes them."""
        return [part for colour in self._places for part in colour]

    def table(self, look: Look) -> list[int]:
        """Return the places of a look's colours, from its ground (0) to its text (255)."""
        ramp = [self._places[colour] for colour in self._ramps[look]]
        return [ramp[round(ink * (len(ramp) - 1) / 255)] for ink in range(256)]


def _ramp(look: Look, shades: int) -> list[_Colour]:
    text, ground = map(rgb, look)
    return [_blend(ground, text, shade / (shades - 1)) for shade in range(shades)]


def _blend(low: _Colour, high: _Colour, part: float) -> _Colour:
    red, green, blue = (round(a + (b - a) * part) for a, b in zip(low, high, strict=True))
    return red, green, blue


def _similar(ramps: Mapping[Look, Sequence[_Colour]], cells: Counter[Look]) -> dict[_Colour, _Colour]:
    """Map more colours than there is room for to similar ones; those of the most cells stay as they are."""
    used = Counter[_Colour]()
    for look, ramp in ramps.items():
        for colour in ramp:
            used[colour] += cells[look]
    in_order = [colour for colour, _ in used.most_common()]
    kept, rest = in_order[: MAX_COLOURS // 2], in_order[MAX_COLOURS // 2 :]
    strip = Image.frombytes("RGB", (len(rest), 1), bytes(part for colour in rest for part in colour))
    few = strip.quantize(MAX_COLOURS - len(kept), method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    parts = iter(few.convert("RGB").tobytes())
    return {colour: colour for colour in kept} | dict(zip(rest, zip(parts, parts, parts, strict=True), strict=True))


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
