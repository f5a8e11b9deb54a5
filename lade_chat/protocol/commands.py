"""Commands: requests from a screen to the engine."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from lade_chat.protocol.control import Inspect, Pause, Quit, Resume, SetLookahead, StepOnce, Stop
from lade_chat.protocol.values import Contender, DecodingOptions, Message, ModelOptions


class Load(msgspec.Struct, frozen=True, tag=True):
    """Load a model; answered by Loading…, then Loaded or LoadFailed."""

    options: ModelOptions


class Reply(msgspec.Struct, frozen=True, tag=True):
    """Answer the last message; answered by ReplyStarted, Prefilling…, Tokens…, then ReplyFinished or Failed."""

    messages: tuple[Message, ...]
    options: DecodingOptions


class Race(msgspec.Struct, frozen=True, tag=True):
    """Answer twice, in two ways, fairly; both sides' events, then RaceFinished or Failed.

    Over a turn that has been answered both sides start from the tables as they were before; with ``fresh`` from empty
    ones, whatever the conversation has taught.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions
    left: Contender = Contender("lookahead")
    right: Contender = Contender("plain")
    fresh: bool = False


class Explain(msgspec.Struct, frozen=True, tag=True):
    """Show how lookahead decoding answers the last message; answered by Explained…, then ExplainFinished or Failed."""

    messages: tuple[Message, ...]


Command: TypeAlias = Load | Reply | Race | Explain | SetLookahead | Pause | StepOnce | Resume | Inspect | Stop | Quit
