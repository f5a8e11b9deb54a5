"""Commands: requests from a screen to the engine."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from lade_chat.protocol.values import DecodingOptions, EarlierReply, Message, MethodSpec, ModelOptions


class SetLookahead(msgspec.Struct, frozen=True, tag=True):
    """Switch lookahead on or off, from the running reply's next step on."""

    enabled: bool


class Pause(msgspec.Struct, frozen=True, tag=True):
    """Make the running reply wait before its next step; its clock stands still."""


class StepOnce(msgspec.Struct, frozen=True, tag=True):
    """Let a paused reply take one step."""


class Resume(msgspec.Struct, frozen=True, tag=True):
    """Let a paused reply go on."""


class Inspect(msgspec.Struct, frozen=True, tag=True):
    """Switch step detail on or off in the Tokens events of this reply and later ones; a paused reply sends it now."""

    enabled: bool


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End the running reply, race or explanation within one step; its text so far is kept."""


class Quit(msgspec.Struct, frozen=True, tag=True):
    """End the engine."""


Control: TypeAlias = SetLookahead | Pause | StepOnce | Resume | Inspect | Stop | Quit


class Load(msgspec.Struct, frozen=True, tag=True):
    """Load a model; answered by Loading…, then Loaded or LoadFailed."""

    options: ModelOptions


class Reply(msgspec.Struct, frozen=True, tag=True):
    """Answer the last message; answered by ReplyStarted, Prefilling…, Tokens…, then ReplyFinished or Failed.

    ``paused``: wait before the first step, as after Pause. ``written``: if the last message is the beginning of a
    reply, the tokens that this model wrote it with, as far as they are known.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions
    paused: bool = False
    written: tuple[int, ...] = ()


class Compare(msgspec.Struct, frozen=True, tag=True):
    """Answer with two methods and compare them; answered by both sides' events, then ComparisonFinished or Failed.

    For a turn that was answered before, both sides start from the draft tables as they were before that answer; with
    ``fresh``, from empty ones.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions
    left: MethodSpec = MethodSpec("lookahead")
    right: MethodSpec = MethodSpec("plain")
    fresh: bool = False


class Explain(msgspec.Struct, frozen=True, tag=True):
    """Show how lookahead decoding answers the last message; answered by Explained…, then ExplainFinished or Failed.

    ``raced``: show the steps of the race just run over these messages, instead of new ones.
    """

    messages: tuple[Message, ...]
    raced: bool = False


class Remember(msgspec.Struct, frozen=True, tag=True):
    """Guess from these earlier replies, the latest last, and from no others; not answered.

    ``fingerprint``: the model that gave them; another model ignores the command. ``forget``: something was taken out
    since, so nothing that was learnt meanwhile is kept either.
    """

    fingerprint: str
    replies: tuple[EarlierReply, ...] = ()
    forget: bool = False


class Prefill(msgspec.Struct, frozen=True, tag=True):
    """Read a conversation ahead, the last message as far as it is typed; not answered.

    It ends within a step when any other job is sent, or Stop.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions = DecodingOptions()


class RankTokens(msgspec.Struct, frozen=True, tag=True):
    """Tell which tokens are the likeliest to come next; answered by TokensRanked or Failed.

    The last message may be the beginning of a reply, ``written`` as in Reply. ``own``: a token to report in any case.
    ``place`` is sent back.
    """

    messages: tuple[Message, ...]
    options: DecodingOptions
    own: int
    place: int
    written: tuple[int, ...] = ()


JobCommand: TypeAlias = Load | Reply | Compare | Explain | Remember | Prefill | RankTokens
"""Commands that take time, carried out one after the other."""
Command: TypeAlias = JobCommand | Control
