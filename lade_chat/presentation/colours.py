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
    """What a token of this origin is shown as."""
    return origin if origin == "plain" or view == "sources" else "verified"


def meanings(view: ColourView) -> dict[Shown, str]:
    """The legend: everything that a token may be shown as, and what it means."""
    if view == "verified":
        return {"plain": ORIGINS["plain"], "verified": VERIFIED}
    return {origin: ORIGINS[origin] for origin in ORIGINS}


def other(view: ColourView) -> ColourView:
    """The view that one switches to."""
    return VIEWS[(VIEWS.index(view) + 1) % len(VIEWS)]


def view_named(name: object) -> ColourView:
    """The view of this name; the usual one for whatever else."""
    return next((view for view in VIEWS if view == name), VIEWS[0])
