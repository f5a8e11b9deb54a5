"""Reading a reply the way the examiner does: its last number, its numbers, its code block, its lines."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assets.recipe.conversation import Check

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_CODE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def last_number(reply: str) -> float | None:
    """The last number written in the reply."""
    found = _NUMBER.findall(reply)
    return float(found[-1]) if found else None


def ends_with_number(value: float) -> Check:
    """The reply's last number is this one."""
    return lambda reply: last_number(reply) == float(value)


def contains(*needed: str) -> Check:
    """The reply contains each of these, whatever the case."""
    return lambda reply: all(part.lower() in reply.lower() for part in needed)


def exactly_in(text: str) -> Check:
    """The reply holds this text, and nothing else after it but a full stop."""
    return lambda reply: reply.rstrip().rstrip(".").endswith(text.rstrip("."))


def number_list(values: Sequence[int]) -> Check:
    """The reply's numbers are these, in this order."""
    wanted = [float(value) for value in values]
    return lambda reply: [float(found) for found in _NUMBER.findall(reply)] == wanted


def code_block(reply: str, language: str = "python") -> str | None:
    """The first fenced block of the language, or None."""
    for found, code in _CODE.findall(reply):
        if found == language:
            return str(code)
    return None
