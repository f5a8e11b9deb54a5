"""The fonts of PNG and GIF: a monospaced one of this machine, and others for the characters that it lacks.

None is bundled. Looked for in this order: DejaVu Sans Mono, the usual monospaced fonts of macOS, Windows and Linux, and
last the font inside Pillow, which is not monospaced: each of its characters stands in the middle of its cell. A
character that no font has (emoji, where the only font of them is one of coloured bitmaps) is an empty box.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from PIL import Image, ImageDraw, ImageFont

from lade_chat.errors import LadeChatError

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
_SELECTORS = dict.fromkeys((0xFE0E, 0xFE0F))
_JOINER = "\N{ZERO WIDTH JOINER}"


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
        shown = text.translate(_SELECTORS).split(_JOINER)[0]
        if not shown.strip():
            return tile
        draw = ImageDraw.Draw(tile)
        font = next((font for font in self._fonts() if _has(font, shown[0])), None)
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
