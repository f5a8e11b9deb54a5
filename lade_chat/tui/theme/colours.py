"""Colours: the themes, and the two views that tint tokens, with their legend and what NO_COLOR leaves of them.

A verified token lies on a quarter of ``success`` over the background, so that colour is chosen to stay readable there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from rich.color import Color as RichColor
from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.content import Content
from textual.filter import LineFilter
from textual.reactive import var
from textual.theme import BUILTIN_THEMES, Theme
from textual.widget import Widget

from lade_chat.export.theme import DARK, LIGHT
from lade_chat.presentation.token_looks import FEW_COLOURS, MARKS, SOURCES, ColourView, Shown, meanings, other
from lade_chat.protocol.inspection import TokenSource
from lade_chat.settings.catalogue import Value
from lade_chat.settings.effective import nearest
from lade_chat.tui.terminal.key_order import OrderedApp
from lade_chat.tui.terminal.textual_private import replace_monochrome

_ROLES = "primary secondary accent success warning error foreground background surface panel"
_PALETTES = {
    "lade-dark": "#5aa9e6 #7c8fd9 #f2b56b #3fb68b #e3b341 #f47067 #dfe4ea #14181d #1b2027 #242b34",
    "lade-light": "#1f6fb2 #5b5fc7 #a85b00 #1a9c6b #9a6700 #c2352b #1f2328 #fbfbf9 #f1f2f0 #e4e7e8",
    "lade-paper": "#7a5230 #5c6f4b #9b3d2e #6f9a4d #8f6400 #a8322a #3a2f25 #f6efe2 #efe6d5 #e5d9c3",
    "lade-contrast": "#66ccff #ffcc66 #ffff66 #00c060 #ffd700 #ff7a7a #ffffff #000000 #0b0b0b #1e1e1e",
}
"""The colours of a theme, in the order of the roles."""
_LIGHT = ("lade-light", "lade-paper")


def _theme(name: str, palette: str) -> Theme:
    colours: dict[str, Any] = dict(zip(_ROLES.split(), palette.split(), strict=True))
    return Theme(name, dark=name not in _LIGHT, **colours)


_THEMES = tuple(_theme(*each) for each in _PALETTES.items())
_UNDERLINED = tuple(
    replace(theme, name=f"{theme.name}-underlined") for theme in _THEMES if theme.name in ("lade-dark", "lade-light")
)
_READABLE = replace(BUILTIN_THEMES["ansi-dark"], primary="ansi_bright_blue")
"""Textual's has names and titles in the dark blue that many terminals show on black, where it cannot be read."""
_OWN = (*_THEMES, *_UNDERLINED)
THEMES = (*_OWN, _READABLE)
NAMES = tuple(theme.name for theme in _OWN) + tuple(sorted(BUILTIN_THEMES))
"""The names of all themes, lade-chat's before Textual's."""
MARKED = frozenset(theme.name for theme in _UNDERLINED)
"""Themes that mark verified tokens by underlines and letters too, for users who cannot tell the colours apart."""


_LIGHT_GROUNDS = ("7", "15")
"""The terminal's colours, of sixteen, that are light enough for a ground."""


def default_theme(*, in_browser: bool = False) -> str:
    """Return the default theme: light where COLORFGBG says that the terminal is light.

    TEXTUAL_THEME, which counts for every Textual program, counts here too. A browser's page is dark.
    """
    if (named := os.environ.get("TEXTUAL_THEME")) in NAMES:
        return str(named)
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "lade-light" if ground in _LIGHT_GROUNDS and not in_browser else "lade-dark"


def problem_of(name: str | None) -> str:
    """Return the line about a theme that does not exist; empty if it does, or none is chosen."""
    if name is None or name in NAMES:
        return ""
    near = nearest(name, NAMES)
    return f"there is no theme {name}{f'; did you mean {near}?' if near else ''}"


VERIFIED = "$origin-verified"
"""The style of what is verified, whatever its source."""
GUESSED: tuple[Shown, ...] = ("verified", *SOURCES)
_STRENGTH = {"dark": "c0", "light": "e6"}
"""Opacity of a source's tint over the background, 00 to ff; at ff some themes' text is too faint."""
_VERIFIED_STRENGTH = "40"


def style_of(origin: TokenSource) -> str:
    """The style of a token's characters; empty for a plainly decoded one."""
    return "" if origin == "plain" else f"$origin-{origin}"


def origin_variables(
    view: ColourView, theme: Mapping[str, str], *, dark: bool, tinted: bool = True, marked: bool = False
) -> dict[str, str]:
    """Return the CSS variables, ``tinted`` with colours; ``marked`` with lines and letters, as without colours."""
    views: tuple[tuple[str, ColourView], ...] = (("origin", view), ("source", "sources"))
    return {
        f"{prefix}-{shown}": " ".join(
            [
                *([_tint(shown, of, theme, dark=dark)] if tinted else []),
                *([MARKS[shown] if of == "sources" else MARKS["verified"]] if marked or not tinted else []),
            ]
        )
        for prefix, of in views
        for shown in GUESSED
    }


def _tint(shown: Shown, view: ColourView, theme: Mapping[str, str], *, dark: bool) -> str:
    if shown == "verified" or view == "verified":
        return f"on {theme['success'][:7]}{_VERIFIED_STRENGTH}"
    tints, strength = (DARK.tints, _STRENGTH["dark"]) if dark else (LIGHT.tints, _STRENGTH["light"])
    return f"on {tints[shown]}{strength}"


class Colouring(OrderedApp):
    """An application with the themes, the sizes that styles tell apart, and a colour view that tokens follow."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide"), (120, "-very-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]  # noqa: RUF012
    colours: var[ColourView] = var[ColourView]("verified", init=False)

    def __init__(self) -> None:
        self._without_colours = WithoutColours()
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        if self.no_color:
            replace_monochrome(self, self._without_colours)

    @property
    def has_few_colours(self) -> bool:
        """True if the terminal has sixteen colours, in which all tints would be alike."""
        return self.console.color_system in FEW_COLOURS

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        # The sixteen colours of a terminal cannot be blended, and unblended a tint would hide the text.
        tinted = not (self.no_color or self.native_ansi_color or self.has_few_colours)
        theme = self.current_theme
        if self.no_color:
            self._without_colours.ground = Color.parse(variables["background"])
        origins = origin_variables(self.colours, variables, dark=theme.dark, tinted=tinted, marked=theme.name in MARKED)
        return {**variables, **origins}

    def action_toggle_colours(self) -> None:
        """Show verified tokens alike, or each by its source; kept for next time."""
        self.colours = other(self.colours)
        self.keep({"colours": self.colours})

    def watch_colours(self) -> None:
        """Show the colour view on every screen."""
        self.refresh_css(animate=False)
        for screen in self.screen_stack:
            for widget in screen.query():  # no rule has changed, so they would not redraw by themselves
                widget.refresh()

    def keep(self, values: Mapping[str, Value | None]) -> None:
        """Keep settings for next time; an application without settings keeps none."""


def show_legend(widget: Widget) -> None:
    """Show the legend of the colours in the lower edge of a widget's border, and follow the view."""
    follow_view(widget, lambda view: setattr(widget, "border_subtitle", legend(view)))


def follow_view(widget: Widget, show: Callable[[ColourView], None]) -> None:
    """Have ``show`` called with the view that is in force, and whenever another one is."""
    widget.watch(widget.app, "colours", show)


def view_of(widget: Widget) -> ColourView:
    """Return the colour view in force for a widget."""
    return cast(Colouring, widget.app).colours


def legend(view: ColourView) -> Content:
    """``verified  plain``, or every source, each as its tokens look."""
    shown = [each for each in meanings(view) if each in GUESSED]
    parts = [(f" {each} ", f"$foreground $origin-{each}") for each in shown]
    return Content(" ").join([*(Content.styled(*part) for part in parts), Content.styled("plain", "$foreground 70%")])


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
