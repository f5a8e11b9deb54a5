"""Events: reports from the engine to its screens."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from lade_chat.protocol.inspection import Inspection, RankedToken
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.protocol.values import Difference, FinishReason, ModelInfo, Piece, Side, Stage, Statistics


class Loading(msgspec.Struct, frozen=True, tag=True):
    """Progress of loading: ``done`` of ``total`` bytes or tensors; total 0 means unknown."""

    stage: Stage
    done: int = 0
    total: int = 0


class Loaded(msgspec.Struct, frozen=True, tag=True):
    """The model is ready."""

    model: ModelInfo


class LoadFailed(msgspec.Struct, frozen=True, tag=True):
    """The model could not be loaded; one line says why and what to do."""

    message: str
    kept: bool = False
    """The previous model is still loaded."""


class ReplyStarted(msgspec.Struct, frozen=True, tag=True):
    """The prompt is tokenised: ``reused_tokens`` of it are in the KV cache, and ``dropped_messages`` did not fit."""

    prompt_tokens: int
    reused_tokens: int = 0
    dropped_messages: int = 0


class Waiting(msgspec.Struct, frozen=True, tag=True):
    """The command waits for ``ahead`` others; sent by an engine that several screens share."""

    ahead: int


class Prefilling(msgspec.Struct, frozen=True, tag=True):
    """Progress of prefill, in tokens."""

    done: int
    total: int
    side: Side = "left"


class Tokens(msgspec.Struct, frozen=True, tag=True):
    """The next pieces of the reply (of one side of a race), in order, batched at about 20 Hz."""

    pieces: tuple[Piece, ...]
    statistics: Statistics
    side: Side = "left"
    step_seconds: tuple[float, ...] = ()
    """The reply's clock at the end of each step since the last batch; one for each ``Piece.step``."""
    inspection: Inspection | None = None
    """The last step of the batch while steps are inspected, and of the reply always; a batch may then be empty."""


class ReplyFinished(msgspec.Struct, frozen=True, tag=True):
    """The reply (or one side of a race) ended, with the reason."""

    finish_reason: FinishReason
    statistics: Statistics
    side: Side = "left"
    successors: bytes = b""
    """Likely next tokens that were learnt in it; ``EarlierReply`` gives them back to the engine."""


class ComparisonFinished(msgspec.Struct, frozen=True, tag=True):
    """Both sides ended. ``speedup`` is right seconds / left seconds; ``difference`` is None if identical."""

    speedup: float
    identical: bool
    difference: Difference | None = None


class TokensRanked(msgspec.Struct, frozen=True, tag=True):
    """The likeliest next tokens, the likeliest first, and behind them the one that was asked about."""

    place: int
    tokens: tuple[RankedToken, ...]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """A reply or race failed, with the error in one line; the conversation and the model stay."""

    message: str


class EngineLost(msgspec.Struct, frozen=True, tag=True):
    """The engine process ended unexpectedly; made by the client, never sent by the engine."""

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
    | ComparisonFinished
    | Explained
    | ExplainFinished
    | TokensRanked
    | Failed
    | EngineLost
)
