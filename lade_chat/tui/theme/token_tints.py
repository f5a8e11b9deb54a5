"""A token's colour: the tint of each source of guesses, over a theme's background, in both views; and their legend.

A verified token lies on a quarter of ``success`` over the background, so that colour is chosen to stay readable there.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from lade_chat.presentation.token_looks import LOOKS, MARKS, SOURCES, ColourView, Shown, meanings
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
    look = LOOKS[shown]
    return f"on {look.dark}{_STRENGTH['dark']}" if dark else f"on {look.light}{_STRENGTH['light']}"


def legend(view: ColourView) -> Content:
    """``verified  plain``, or every source, each as its tokens look."""
    shown = [each for each in meanings(view) if each in GUESSED]
    parts = [(f" {each} ", f"$foreground $origin-{each}") for each in shown]
    return Content(" ").join([*(Content.styled(*part) for part in parts), Content.styled("plain", "$foreground 70%")])
