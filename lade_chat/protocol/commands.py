"""Commands: requests from a screen to the engine."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from lade_chat.protocol.control import Control
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelOptions


class Load(msgspec.Struct, frozen=True, tag=True):
    """Load a model; answered by Loading…, then Loaded or LoadFailed."""

    options: ModelOptions


class Reply(msgspec.Struct, frozen=True, tag=True):
    """Answer the last message; answered by ReplyStarted, Prefilling…, Tokens…, then ReplyFinished or Failed."""

    messages: tuple[Message, ...]
    options: DecodingOptions


class Compare(msgspec.Struct, frozen=True, tag=True):
    """Answer with two methods and compare them; answered by both sides' events, then RaceFinished or Failed.

    For a turn that was answered before, both sides start from the draft tables as they were before that answer; with
    ``fresh``, from empty ones.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions
    left: MethodSpec = MethodSpec("lookahead")
    right: MethodSpec = MethodSpec("plain")
    fresh: bool = False


class Explain(msgspec.Struct, frozen=True, tag=True):
    """Show how lookahead decoding answers the last message; answered by Explained…, then ExplainFinished or Failed."""

    messages: tuple[Message, ...]


JobCommand: TypeAlias = Load | Reply | Compare | Explain
"""Commands that take time, carried out one after the other."""
Command: TypeAlias = JobCommand | Control
