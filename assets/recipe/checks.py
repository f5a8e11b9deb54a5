"""Reading a reply the way the examiner does: its last number, its numbers, its code block; and a few of many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from assets.recipe.conversation import Check

T = TypeVar("T")

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_OPENING = re.compile(r"([^:\n]*:\s+|.*\bSo )?", re.DOTALL)
_CODE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


def ends_with_numbers(*values: float) -> Check:
    """The reply's last numbers are these, in this order."""
    wanted = [float(value) for value in values]
    return lambda reply: [float(found) for found in _NUMBER.findall(reply)[-len(wanted) :]] == wanted


def contains(*needed: str) -> Check:
    """The reply contains each of these, whatever the case."""
    return lambda reply: all(part.lower() in reply.lower() for part in needed)


def mentions(*needed: str) -> Check:
    """The reply contains each of these, whatever the case; of `one / other`, one is enough."""
    wanted = [alternatives.lower().split(" / ") for alternatives in needed]
    return lambda reply: all(any(one in reply.lower() for one in alternatives) for alternatives in wanted)


def exactly_in(text: str) -> Check:
    """The reply is this text, with at most an opening before it ("Here you go:") and a full stop after it.

    What else may stand before it is a sentence that leads up to it with "So".
    """
    wanted = text.rstrip(".")

    def check(reply: str) -> bool:
        said = reply.rstrip().rstrip(".")
        return said.endswith(wanted) and _OPENING.fullmatch(said.removesuffix(wanted)) is not None

    return check


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


def thinned(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items in their order, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    if most < 2:
        return list(items[:most])
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]
