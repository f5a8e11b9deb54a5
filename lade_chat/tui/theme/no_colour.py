"""The filter for NO_COLOR: lines, reversed grounds and dim text in place of colours."""

from __future__ import annotations

from functools import lru_cache

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

STANDS_OUT, FAINT = 0.25, 0.55
"""Brightness differences: a ground beyond STANDS_OUT of the screen's is reversed, grey text within FAINT of it is
dim."""
GREY = 40
"""The red, green and blue of a grey differ less than this."""


class WithoutColours(LineFilter):
    """The filter; cursors and selected lines stay visible, and muted text stays muted."""

    ground = Color(0, 0, 0)
    """The background of the screens."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            Segment(text, _uncoloured(style, self.ground) if style is not None else None, control)
            for text, style, control in segments
        ]


@lru_cache(4096)
def _uncoloured(style: Style, ground: Color) -> Style:
    plain = style.without_color
    if style.meta:
        plain += Style.from_meta(style.meta)  # what can be clicked
    own, text = _known(style.bgcolor) or ground, _known(style.color)
    if abs(own.brightness - ground.brightness) > STANDS_OUT:
        plain += Style(reverse=not style.reverse)
    elif text is not None and max(text.rgb) - min(text.rgb) < GREY and abs(text.brightness - own.brightness) < FAINT:
        plain += Style(dim=True)
    return plain


def _known(colour: RichColor | None) -> Color | None:
    """A colour that is not the terminal's own."""
    return Color.from_rich_color(colour) if colour is not None and colour.type is ColorType.TRUECOLOR else None
