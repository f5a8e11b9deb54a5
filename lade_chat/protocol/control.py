"""Commands that the engine obeys at once, whatever it is doing."""

from __future__ import annotations

from typing import TypeAlias

import msgspec


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
