"""Commands that the engine obeys at once, in the middle of whatever it is doing; part of the protocol."""

from __future__ import annotations

import msgspec


class SetLookahead(msgspec.Struct, frozen=True, tag=True):
    """Switch lookahead on or off; a running reply obeys at its next step."""

    enabled: bool


class Pause(msgspec.Struct, frozen=True, tag=True):
    """Have the running reply wait before its next step, its clock standing still."""


class StepOnce(msgspec.Struct, frozen=True, tag=True):
    """Have a paused reply take one step."""


class Resume(msgspec.Struct, frozen=True, tag=True):
    """Have a paused reply go on."""


class Inspect(msgspec.Struct, frozen=True, tag=True):
    """Whether Tokens… of this reply and those to come tell of their last step in detail; a paused one tells at once."""

    enabled: bool


class Stop(msgspec.Struct, frozen=True, tag=True):
    """End the running reply, race or explanation within one step; what was said is kept."""


class Quit(msgspec.Struct, frozen=True, tag=True):
    """End the engine."""
