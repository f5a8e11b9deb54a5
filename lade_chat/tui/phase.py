"""What the engine is doing, as far as the screen knows, and why something cannot be done meanwhile."""

from __future__ import annotations

from enum import Enum, auto

from lade_chat.protocol import ModelInfo

STILL_ANSWERING = "The model is still answering. Esc stops it."
STILL_LOADING = "The model is still loading."
NO_MODEL = "No model is loaded. Ctrl+O opens one."
NO_LOOKAHEAD = "Lookahead is not available with this model."


class Phase(Enum):
    """One of these at a time."""

    LOADING = auto()
    UNLOADED = auto()
    READY = auto()
    REPLYING = auto()
    RACING = auto()
    LOST = auto()


def no_asking(phase: Phase, *, stopping: bool) -> str:
    """Why nothing can be asked; empty if something can, though it may have to wait for the model."""
    if phase is Phase.UNLOADED:
        return NO_MODEL
    return STILL_ANSWERING if phase is Phase.REPLYING and not stopping else ""


def no_changing(phase: Phase) -> str:
    """Why what was said cannot be asked anew, or left, just now; empty if it can."""
    if phase is Phase.READY:
        return ""
    if phase is Phase.LOADING:
        return STILL_LOADING
    if phase is Phase.LOST:
        return "The engine is gone. F6 starts it again."
    return NO_MODEL if phase is Phase.UNLOADED else STILL_ANSWERING


def no_lookahead(phase: Phase, model: ModelInfo | None) -> str:
    """Why lookahead cannot be switched; empty if it can."""
    if model is None:
        return STILL_LOADING if phase is Phase.LOADING else NO_MODEL
    return "" if model.lookahead_supported else NO_LOOKAHEAD


def no_race(phase: Phase, model: ModelInfo | None) -> str:
    """Why there can be no race just now; empty if there can."""
    if phase is Phase.LOADING:
        return STILL_LOADING
    if phase is not Phase.READY or model is None:
        return STILL_ANSWERING if phase in (Phase.REPLYING, Phase.RACING) else "No model is loaded."
    return "" if model.lookahead_supported else f"{NO_LOOKAHEAD[:-1]}, so there is nothing to race."
