"""Themes: dark, light, paper and high contrast, beside Textual's own.

A verified token lies on a quarter of ``success`` over the background, so that colour is chosen to stay readable there.
"""

from __future__ import annotations

import os
from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

from lade_chat.settings.effective import nearest

_THEMES = (
    Theme(
        name="lade-dark",
        primary="#5aa9e6",
        secondary="#7c8fd9",
        accent="#f2b56b",
        success="#3fb68b",
        warning="#e3b341",
        error="#f47067",
        foreground="#dfe4ea",
        background="#14181d",
        surface="#1b2027",
        panel="#242b34",
        dark=True,
    ),
    Theme(
        name="lade-light",
        primary="#1f6fb2",
        secondary="#5b5fc7",
        accent="#a85b00",
        success="#1a9c6b",
        warning="#9a6700",
        error="#c2352b",
        foreground="#1f2328",
        background="#fbfbf9",
        surface="#f1f2f0",
        panel="#e4e7e8",
        dark=False,
    ),
    Theme(
        name="lade-paper",
        primary="#7a5230",
        secondary="#5c6f4b",
        accent="#9b3d2e",
        success="#6f9a4d",
        warning="#8f6400",
        error="#a8322a",
        foreground="#3a2f25",
        background="#f6efe2",
        surface="#efe6d5",
        panel="#e5d9c3",
        dark=False,
    ),
    Theme(
        name="lade-contrast",
        primary="#66ccff",
        secondary="#ffcc66",
        accent="#ffff66",
        success="#00c060",
        warning="#ffd700",
        error="#ff7a7a",
        foreground="#ffffff",
        background="#000000",
        surface="#0b0b0b",
        panel="#1e1e1e",
        dark=True,
    ),
)

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
