"""Events: reports from the engine to its screens."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.protocol.values import Difference, FinishReason, ModelInfo, Piece, Side, Stage, Statistics


class Loading(msgspec.Struct, frozen=True, tag=True):
    """How far loading has come: ``done`` of ``total`` units (bytes or tensors); total 0 means not known."""

    stage: Stage
    done: int = 0
    total: int = 0


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The model is ready."""

    model: ModelInfo


class LoadFailed(msgspec.Struct, frozen=True, tag=True):
    """The model could not be loaded; one line says what was wrong and what to do."""

    message: str
    kept: bool = False
    """Whether the model that was loaded before is still there."""


class ReplyStarted(msgspec.Struct, frozen=True, tag=True):
    """The prompt is tokenised; ``reused_tokens`` of it were in the KV cache, ``dropped_messages`` did not fit."""

    prompt_tokens: int
    reused_tokens: int = 0
    dropped_messages: int = 0


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """The command waits for so many others: told by an engine that several screens share."""

    ahead: int


class Prefilling(msgspec.Struct, frozen=True, tag=True):
    """How many of the prompt's tokens have been read."""

    done: int
    total: int
    side: Side = "left"


class Tokens(msgspec.Struct, frozen=True, tag=True):
    """The next pieces of the reply (of one side of a race), in order, batched at about 20 Hz."""

    pieces: tuple[Piece, ...]
    statistics: Statistics
    side: Side = "left"
    step_seconds: tuple[float, ...] = ()
    """The reply's clock at the end of each step since the last batch: over all of its batches, a time for every
    ``Piece.step``."""
    inspection: Inspection | None = None
    """The last step of the batch in detail, where that is wanted, and of the reply in any case; a batch may be without
    pieces then."""


class ReplyFinished(msgspec.Struct, frozen=True, tag=True):
    """The reply (or one side of a race) ended, and why."""

    finish_reason: FinishReason
    statistics: Statistics
    side: Side = "left"


class RaceFinished(msgspec.Struct, frozen=True, tag=True):
    """Both sides ended. ``speedup`` is right seconds / left seconds; ``difference`` is None if identical."""

    speedup: float
    identical: bool
    difference: Difference | None = None


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A reply or race ended by an error, in one line; the conversation and the model stay."""

    message: str


class EngineLost(msgspec.Struct, frozen=True, tag=True):
    """The engine process ended unasked; made by the client, never sent by the engine."""

    message: str


Event: TypeAlias = (
    Loading
    | Loaded
    | LoadFailed
    | ReplyStarted
    | Waiting
    | Prefilling
    | Tokens
    | ReplyFinished
    | RaceFinished
    | Explained
    | ExplainFinished
    | Failed
    | EngineLost
)
