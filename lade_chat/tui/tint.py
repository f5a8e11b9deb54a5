"""How a token's origin looks: a tint behind verified tokens, or a line under them where colours are not wanted."""

from __future__ import annotations

from textual.app import App

from lade_chat.protocol import Origin

VERIFIED = "on $success 25%"
VERIFIED_WITHOUT_COLOUR = "underline"


def verified_style(app: App[object]) -> str:
    """A style by name of theme colours, so that it follows the theme without being set again.

    A terminal's own sixteen colours cannot be blended, and unblended the tint would hide the text.
    """
    return VERIFIED_WITHOUT_COLOUR if app.no_color or app.native_ansi_color else VERIFIED


def style_of(origin: Origin, app: App[object]) -> str:
    """The style of a token's characters; empty for a plainly decoded one."""
    return "" if origin == "plain" else verified_style(app)
