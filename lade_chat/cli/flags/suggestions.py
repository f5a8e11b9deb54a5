"""What is said of a flag that a command does not have: which is near, or where it belongs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_SHORTEST = 3
"""Letters from which on the beginning of a flag is taken for one."""


def missing_option(name: str, context: Any) -> str:
    """The line about the flag ``name``, which the command of ``context`` (click's) does not have."""
    group = context.parent.command if context.parent is not None else context.command
    commands: Mapping[str, Any] = getattr(group, "commands", {})
    if context.parent is not None and name in _flags(group):
        return f"{name} is for the chat itself, without a command: {context.info_name} has no such flag"
    holders = [each for each, command in commands.items() if name in _flags(command)]
    if context.parent is None and holders:
        return f"{name} belongs behind a command that has it: {', '.join(holders)}"
    near = _near(name, _flags(context.command))
    return f"there is no flag {name}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def _flags(command: Any) -> list[str]:
    return [flag for each in command.params for flag in (*each.opts, *each.secondary_opts) if flag.startswith("-")]


def _near(name: str, flags: Iterable[str]) -> list[str]:
    """Of the flags those that are spelt nearly so, or begin so; dashes alike do not count."""
    bare = {flag.strip("-").replace("_", "-"): flag for flag in flags if flag.startswith("--")}
    typed = name.strip("-").replace("_", "-").lower()
    begun = [each for each in bare if len(typed) >= _SHORTEST and each.startswith(typed)]
    return [bare[each] for each in dict.fromkeys([*begun, *get_close_matches(typed, bare, cutoff=0.7)])][:3]
