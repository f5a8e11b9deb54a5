"""What the engine is doing, as far as the screen knows, and why something cannot be done meanwhile."""

from __future__ import annotations

from enum import Enum, auto

from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.app.key_names import KeyNames

STILL_ANSWERING = "The model is still answering. {stop} stops it."
STILL_LOADING = "The model is still loading."
NO_MODEL = "No model is loaded. {open_model} opens one."
NO_LOOKAHEAD = "Lookahead is not available with this model."


class Phase(Enum):
    """One of these at a time."""

    LOADING = auto()
    UNLOADED = auto()
    READY = auto()
    REPLYING = auto()
    RACING = auto()
    EXPLAINING = auto()
    LOST = auto()


def no_asking(phase: Phase, keys: KeyNames, *, stopping: bool) -> str:
    """Why nothing can be asked; empty if something can, though it may have to wait for the model."""
    if phase is Phase.UNLOADED:
        return keys.put_into(NO_MODEL)
    return keys.put_into(STILL_ANSWERING) if phase is Phase.REPLYING and not stopping else ""


def no_changing(phase: Phase, keys: KeyNames) -> str:
    """Why what was said cannot be asked anew, or left, just now; empty if it can."""
    if phase is Phase.READY:
        return ""
    if phase is Phase.LOADING:
        return STILL_LOADING
    if phase is Phase.LOST:
        return keys.put_into("The engine is gone. {restart} starts it again.")
    return keys.put_into(NO_MODEL if phase is Phase.UNLOADED else STILL_ANSWERING)


def no_lookahead(phase: Phase, model: ModelInfo | None, keys: KeyNames) -> str:
    """Why lookahead cannot be switched; empty if it can."""
    if model is None:
        return STILL_LOADING if phase is Phase.LOADING else keys.put_into(NO_MODEL)
    return "" if model.lookahead_supported else NO_LOOKAHEAD


def no_race(phase: Phase, model: ModelInfo | None, keys: KeyNames) -> str:
    """Why there can be no race just now; empty if there can."""
    if phase is Phase.LOADING:
        return STILL_LOADING
    if phase is not Phase.READY or model is None:
        return keys.put_into(STILL_ANSWERING if phase in (Phase.REPLYING, Phase.RACING) else NO_MODEL)
    return "" if model.lookahead_supported else f"{NO_LOOKAHEAD[:-1]}, so there is nothing to race."


def no_explaining(phase: Phase, model: ModelInfo | None, keys: KeyNames) -> str:
    """Why the method cannot be shown just now; empty if it can."""
    if phase is Phase.READY and model is not None and not model.lookahead_supported:
        return f"{NO_LOOKAHEAD[:-1]}, so there is nothing to show."
    return no_changing(phase, keys)
