"""The parts of the corpus: messages, and exchanges that know how a reply to them is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")
Role = Literal["system", "user", "assistant"]
Check = Callable[[str], bool]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_SO = re.compile(r"\bSo\s")
_OPENING = re.compile(r"([^:\n]*:\s+|.*\bSo\s)?", re.DOTALL)
_CODE = re.compile(r"```(\w*)\n(.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Message:
    """One turn's text, and whose turn it is."""

    role: Role
    content: str


@dataclass(frozen=True)
class Exchange:
    """A question, one good reply, and a check that any good reply passes (None: not examined).

    `copied` are words of the user's that a reply has to have as they were typed.
    """

    ask: str
    reply: str
    check: Check | None = None
    follow_up: bool = False
    copied: tuple[str, ...] = ()


def messages(exchanges: list[Exchange], system: str | None = None) -> list[Message]:
    """The exchanges as the messages of one conversation."""
    turns = [Message("system", system)] if system else []
    for exchange in exchanges:
        turns += [Message("user", exchange.ask), Message("assistant", exchange.reply)]
    return turns


def ends_with_numbers(*values: float) -> Check:
    """The reply's last numbers are these, in this order."""
    wanted = [float(value) for value in values]
    return lambda reply: [float(found) for found in _NUMBER.findall(reply)[-len(wanted) :]] == wanted


def number_list(values: Sequence[float]) -> Check:
    """The reply's numbers are these, in this order, and no others; after "So", if it shows how it got there."""
    wanted = [float(value) for value in values]
    return lambda reply: [float(found) for found in _NUMBER.findall(_SO.split(reply)[-1])] == wanted


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


def exact(ask: str, reply: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply is right to the letter."""
    return Exchange(ask, reply, exactly_in(reply), follow_up)


def code_block(reply: str, language: str = "python") -> str | None:
    """The first fenced block of the language, or None."""
    return next((str(code) for found, code in _CODE.findall(reply) if found == language), None)


def thinned(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items in their order, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    if most < 2:
        return list(items[:most])
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]
