"""Films drawn: an animated GIF of one palette whose frames hold only what is new, or a PNG of the end.

No font is bundled. Looked for in this order: DejaVu Sans Mono, the usual monospaced fonts of macOS, Windows and Linux,
others for the characters that these lack, and last the font inside Pillow, which is not monospaced: each of its
characters stands in the middle of its cell. A character that no font has (emoji, where the only font of them is one of
coloured bitmaps) is an empty box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from typing import TypeAlias
from unicodedata import normalize

from PIL import Image, ImageDraw, ImageFont
from rich.style import Style

from lade_chat.errors import LadeChatError
from lade_chat.export.card import TEXT_ROWS, Card, Film, FilmRow, Frame, glyphs
from lade_chat.export.content import Content
from lade_chat.export.theme import Theme, fixed

STILL_SIZE, MOVING_SIZE = 26, 14
"""Font sizes in pixels; a still is drawn for screens of twice the density."""
FRAMES_PER_SECOND = 15
MAX_FRAMES = 900
"""A reply of more than a minute has fewer frames a second: its file has to stay small enough to be sent."""
HOLD_SECONDS = 3.0
"""Display time of the last frame, the only one that is not the reply's own."""
MAX_COLOURS = 255
"""One of a GIF's colours is left for what has not changed."""
MAX_SHADES = 8
"""Shades of a character, from its ground to its text; the edges lie between."""
_INK, _GROUND = (224, 224, 224), (18, 18, 18)
"""The colours of a terminal's text and ground, where a style has none."""
_Colour: TypeAlias = tuple[int, int, int]
_ColourPair: TypeAlias = tuple[_Colour, _Colour]
"""The colours of a text and of the ground below it."""


def png(content: Content, theme: Theme) -> bytes:
    """Draw everything at the end, with every row."""
    card = Card(content)
    return film_png(card.film(fixed(theme), [card.seconds], card.text_rows))


def film_png(film: Film) -> bytes:
    """Draw the end of a film."""
    shown = {place: row for frame in film.frames for place, row in frame.rows.items()}
    [picture] = _pictures(Film(film.columns, film.rows, [Frame(0.0, shown)]), STILL_SIZE)
    file = BytesIO()
    picture.save(file, "PNG", optimize=True)
    return file.getvalue()


def gif(content: Content, theme: Theme) -> bytes:
    """Draw the reply as it was written; a text of more than :data:`TEXT_ROWS` rows scrolls."""
    card = Card(content)
    return film_gif(card.film(fixed(theme), _moments(card.seconds), min(card.text_rows, TEXT_ROWS)))


def film_gif(film: Film) -> bytes:
    """Draw every frame with one palette."""
    moments = [frame.seconds for frame in film.frames]
    # In whole hundredths of a second, as a GIF counts, so that rounding cannot add up.
    starts = [round(100 * moment) for moment in (*moments, max(film.seconds, moments[-1]) + HOLD_SECONDS)]
    durations = [10 * max(2, after - start) for start, after in pairwise(starts)]
    frames = _pictures(film, MOVING_SIZE)
    file = BytesIO()
    next(frames).save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1)
    return file.getvalue()


def _moments(seconds: float) -> list[float]:
    """Return the start of each frame, and the end."""
    count = max(1, min(MAX_FRAMES, int(seconds * FRAMES_PER_SECOND)))
    return [*(seconds * frame / count for frame in range(count)), seconds]


def _pictures(film: Film, size: int) -> Iterator[Image.Image]:
    """Yield the screen after each frame; places in the palette are kept as if they were greys."""
    face, bold = Typeface(size), Typeface(size, bold=True)
    ramps = _ramps(film)
    places = {
        colour: place for place, colour in enumerate(sorted({colour for ramp in ramps.values() for colour in ramp}))
    }
    flat = [part for colour in places for part in colour]
    tiles: dict[tuple[str, Style], Image.Image] = {}
    image = Image.new("L", (film.columns * face.cell, film.rows * face.row))

    def tile(glyph: str, width: int, style: Style) -> Image.Image:
        if (glyph, style) not in tiles:
            drawn = (bold if style.bold else face).tile(glyph, width)
            if style.strike or style.underline:
                line = round(face.row * (0.55 if style.strike else 0.9))
                ImageDraw.Draw(drawn).line((0, line, drawn.width, line), fill=255)
            ramp = [places[colour] for colour in ramps[_look_of(style)]]
            tiles[glyph, style] = drawn.point([ramp[round(ink * (len(ramp) - 1) / 255)] for ink in range(256)])
        return tiles[glyph, style]

    def draw(place: int, row: FilmRow) -> None:
        column = 0
        for run in row:
            for glyph, width in glyphs(run.text):
                if width:
                    image.paste(tile(glyph, width, run.style or Style.null()), (column, place * face.row))
                    column += width * face.cell

    for frame in film.frames:
        for place, row in frame.rows.items():
            draw(place, row)
        picture = image.copy()
        picture.putpalette(flat)
        yield picture


@lru_cache(maxsize=1024)
def _look_of(style: Style) -> _ColourPair:
    ink, ground = style.color, style.bgcolor
    look = (
        _INK if ink is None or ink.is_default else ink.get_truecolor(),
        _GROUND if ground is None or ground.is_default else ground.get_truecolor(),
    )
    return look[::-1] if style.reverse else look


def _ramps(film: Film) -> Mapping[_ColourPair, Sequence[_Colour]]:
    """Return the colours of each look from ground to text, at most :data:`MAX_COLOURS` in all."""
    cells = Counter[_ColourPair]()
    for frame in film.frames:
        for row in frame.rows.values():
            for run in row:
                cells[_look_of(run.style or Style.null())] += len(run.text)
    for shades in range(MAX_SHADES, 1, -1):  # looks share colours, so that many of them may have all shades
        ramps = {look: _ramp(look, shades) for look in cells}
        if len({colour for ramp in ramps.values() for colour in ramp}) <= MAX_COLOURS:
            return ramps
    used = Counter[_Colour]()
    for look, ramp in ramps.items():
        for colour in ramp:
            used[colour] += cells[look]
    # The most frequent ones stay as they are, the others become similar ones.
    in_order = [colour for colour, _ in used.most_common()]
    kept, rest = in_order[: MAX_COLOURS // 2], in_order[MAX_COLOURS // 2 :]
    strip = Image.frombytes("RGB", (len(rest), 1), bytes(part for colour in rest for part in colour))
    few = strip.quantize(MAX_COLOURS - len(kept), method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    parts = iter(few.convert("RGB").tobytes())
    similar = dict(zip(kept, kept, strict=True)) | dict(zip(rest, zip(parts, parts, parts, strict=True), strict=True))
    return {look: [similar[colour] for colour in ramp] for look, ramp in ramps.items()}


def _ramp(look: _ColourPair, shades: int) -> list[_Colour]:
    """Return this many colours from the ground to the text."""
    text, ground = look
    parts = [shade / (shades - 1) for shade in range(shades)]
    red, green, blue = ([round(a + (b - a) * part) for part in parts] for a, b in zip(ground, text, strict=True))
    return list(zip(red, green, blue, strict=True))


Font: TypeAlias = ImageFont.FreeTypeFont

MONOSPACED = (
    "DejaVuSansMono.ttf",
    "Menlo.ttc",
    "consola.ttf",
    "LiberationMono-Regular.ttf",
    "NotoSansMono-Regular.ttf",
    "UbuntuMono-R.ttf",
)
BOLD = "DejaVuSansMono-Bold.ttf"
OTHERS = (
    "DejaVuSans.ttf",
    *("NotoSansCJK-Regular.ttc", "wqy-microhei.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf"),
    *("PingFang.ttc", "Hiragino Sans GB.ttc", "AppleSDGothicNeo.ttc", "Arial Unicode.ttf"),
    *("msyh.ttc", "msgothic.ttc", "malgun.ttf", "seguisym.ttf", "seguiemj.ttf"),
    *("NotoEmoji-Regular.ttf", "NotoSansSymbols2-Regular.ttf", "Symbola.ttf", "unifont.otf", "unifont.ttf"),
)
"""For East Asian characters, symbols and emoji, which monospaced fonts lack."""
_NONEXISTENT = "\U0010ffff"


class Typeface:
    """Draws what fills a cell or two."""

    def __init__(self, size: int, *, bold: bool = False) -> None:
        """``bold``: in bold, if this machine has DejaVu Sans Mono in bold."""
        self._size = size
        names = (BOLD, *MONOSPACED) if bold else MONOSPACED
        found = (font for name in names if (font := _opened(name, size)) is not None)
        self._main = next(found, None) or _inside_pillow(size)
        ascent, descent = self._main.getmetrics()
        self._ascent = ascent
        self.cell = max(1, round(self._main.getlength("M")))
        self.row = ascent + descent

    def tile(self, text: str, width: int) -> Image.Image:
        """Return the coverage of a glyph of ``width`` cells, as an image of mode L."""
        tile = Image.new("L", (max(1, width * self.cell), self.row))
        # Fonts without colours do not join several emoji into one: the first of them stands for all.
        shown = normalize("NFC", text)[:1]
        if not shown.strip():
            return tile
        draw = ImageDraw.Draw(tile)
        font = next((font for font in self._fonts() if _has(font, shown)), None)
        if font is None:
            draw.rectangle((1, 2, tile.width - 2, self.row - 3), outline=160)
            return tile
        if (length := font.getlength(shown)) > tile.width + 1:
            font = font.font_variant(size=max(1, font.size * tile.width / length))
        left = round((tile.width - font.getlength(shown)) / 2)
        draw.text((left, self._ascent), shown, fill=255, font=font, anchor="ls")
        return tile

    def _fonts(self) -> Iterator[Font]:
        """The main font, then the others; these are opened only when a character asks for them."""
        yield self._main
        for name in OTHERS:
            if (font := _opened(name, self._size)) is not None:
                yield font


def _inside_pillow(size: int) -> Font:
    inside = ImageFont.load_default(size)
    if not isinstance(inside, ImageFont.FreeTypeFont):
        raise LadeChatError("This Pillow was built without FreeType, and cannot write text at any size.")
    return inside


@lru_cache
def _opened(name: str, size: int) -> Font | None:
    try:
        return ImageFont.truetype(name, size)
    except OSError:
        return None


@lru_cache(maxsize=4096)
def _has(font: Font, character: str) -> bool:
    """Tell whether a font has a character; a missing one looks like a nonexistent one."""
    return character.isspace() or _bitmap(font, character) != _bitmap(font, _NONEXISTENT)


def _bitmap(font: Font, character: str) -> tuple[tuple[int, int], bytes]:
    mask = font.getmask(character)
    return mask.size, bytes(mask)
