"""The two ways to colour tokens: verified ones alike, or each by its source; and what their legends say."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from lade_chat.presentation.metrics import ORIGINS
from lade_chat.presentation.sources import Shown as Shown
from lade_chat.protocol.inspection import Origin

ColourView: TypeAlias = Literal["verified", "sources"]
VIEWS: tuple[ColourView, ...] = get_args(ColourView)
VERIFIED = "guessed before the step, and what the model chose in it"


def shown_as(origin: Origin, view: ColourView) -> Shown:
    """Return the look of a token of this origin."""
    return origin if origin == "plain" or view == "sources" else "verified"


def meanings(view: ColourView) -> dict[Shown, str]:
    """Return the legend: every look of a token, and its meaning."""
    if view == "verified":
        return {"plain": ORIGINS["plain"], "verified": VERIFIED}
    return {origin: ORIGINS[origin] for origin in ORIGINS}


def other(view: ColourView) -> ColourView:
    """Return the view to switch to."""
    return VIEWS[(VIEWS.index(view) + 1) % len(VIEWS)]


def view_named(name: object) -> ColourView:
    """Return the view of this name; the default for any other value."""
    return next((view for view in VIEWS if view == name), VIEWS[0])
