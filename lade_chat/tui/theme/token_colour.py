"""Style of a token by origin: a background tint, or underlines where colours are off.

Styles name variables that the theme and the view fill in, so that what is on the screen follows both by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from lade_chat.export.theme import DARK, LIGHT
from lade_chat.presentation.sources import MARKS, SOURCES, ColourView, Shown
from lade_chat.protocol.inspection import TokenSource

VERIFIED = "$origin-verified"
"""The style of what is verified, whatever its source."""
GUESSED: tuple[Shown, ...] = ("verified", *SOURCES)
_STRENGTH = {"dark": "c0", "light": "e6"}
"""Opacity of a source's tint over the background, 00 to ff; at ff some themes' text is too faint."""
_VERIFIED_STRENGTH = "40"


def style_of(origin: TokenSource) -> str:
    """The style of a token's characters; empty for a plainly decoded one."""
    return "" if origin == "plain" else f"$origin-{origin}"


def source_style(origin: TokenSource) -> str:
    """The style of a candidate's characters, by its source in either view."""
    return f"$source-{origin}"


def origin_variables(
    view: ColourView, theme: Mapping[str, str], *, dark: bool, tinted: bool = True, marked: bool = False
) -> dict[str, str]:
    """Return the values of the CSS variables.

    Args:
        theme: the theme's own variables.
        tinted: with colours; without them it is marked in any case.
        marked: with lines and letters too.
    """
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
