"""Usage errors: one line each, with the flag that was perhaps meant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import typer

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""The root of all usage errors; typer exports only this one subclass."""
_PREFIXES = re.compile(r"^Invalid value(?:: | for '?([^':]+)[^:]*(: ))(?:Value error, )?")
"""What the parser, and the library that checks a choice, put before a message; the flag stays, by its first name."""
MIN_PREFIX_LETTERS = 3
"""A typed flag this long is completed to the flags that begin with it."""


def usage(message: str) -> Exception:
    """Return an error to raise: exit code 2, and a pointer to ``--help``."""
    return USAGE_ERROR(message)


def usage_line(error: Exception) -> str:
    """Return the line for a usage error of the parser's."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "lade-chat"
    is_unknown_flag = hasattr(error, "possibilities") and context is not None
    text = _unknown_flag(error.option_name, context) if is_unknown_flag else _told(error.format_message(), context)  # type: ignore[attr-defined]
    return f"{text.removesuffix('.')} (see {command} --help)"


def _told(text: str, context: Any) -> str:
    """Begin with the flag, and add what was perhaps meant by surplus words: they may be a question."""
    text = _PREFIXES.sub(r"\1\2", text)
    if text.startswith("No such command") and text.endswith("."):  # otherwise it names one of a similar name
        return f"{text.removesuffix('.')}; to ask a question: lade-chat ask PROMPT"
    if text.startswith("Got unexpected extra argument") and _takes_prompt(context):
        return f"{text}: a prompt of several words needs quotes"
    return text


def _unknown_flag(name: str, context: Any) -> str:
    """Say which flag is near, or which command has it. ``context`` is click's."""
    group = context.parent.command if context.parent is not None else context.command
    commands: Mapping[str, Any] = getattr(group, "commands", {})
    holders = [each for each, command in commands.items() if name in _flags(command)]
    if context.parent is not None and name in _flags(group):
        others = f" and for {', '.join(holders)}" if holders else ", without a command"
        return f"{name} is for the chat itself{others}: {context.info_name} has no such flag"
    if context.parent is None and holders:
        return f"{name} goes after one of these commands: {', '.join(holders)}"
    told = f"there is no flag {name}"
    if near := _near(name, _flags(context.command)):
        return f"{told}; did you mean {' or '.join(near)}?"
    return f"{told}; a prompt that begins with a dash stands behind --" if _takes_prompt(context) else told


def _takes_prompt(context: Any) -> bool:
    return context is not None and any(each.metavar == "PROMPT" for each in context.command.params)


def _flags(command: Any) -> list[str]:
    return [flag for each in command.params for flag in (*each.opts, *each.secondary_opts) if flag.startswith("-")]


def _near(name: str, flags: Iterable[str]) -> list[str]:
    bare = {flag.strip("-"): flag for flag in flags if flag.startswith("--")}
    typed = name.strip("-").replace("_", "-").lower()
    begun = [each for each in bare if len(typed) >= MIN_PREFIX_LETTERS and each.startswith(typed)]
    return [bare[each] for each in dict.fromkeys([*begun, *get_close_matches(typed, bare, cutoff=0.7)])][:3]
