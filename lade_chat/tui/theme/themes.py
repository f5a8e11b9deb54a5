"""The themes: lade-chat's own, and Textual's; which one is the default."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from textual.theme import BUILTIN_THEMES, Theme

from lade_chat.settings.effective import nearest

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
