"""What the corpus is made of: messages, and exchanges that know how a reply to them is checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Role = Literal["system", "user", "assistant"]
Check = Callable[[str], bool]


@dataclass(frozen=True)
class Message:
    """One turn's text, and whose turn it is."""

    role: Role
    content: str


@dataclass(frozen=True)
class Exchange:
    """A question, one good reply, and a check that any good reply passes (None: not examined).

    `parses` is what even a wrong reply should pass: being readable code (None: not asked for).
    """

    ask: str
    reply: str
    check: Check | None = None
    follow_up: bool = False
    parses: Check | None = None


def messages(exchanges: list[Exchange], system: str | None = None) -> list[Message]:
    """The exchanges as the messages of one conversation."""
    turns = [Message("system", system)] if system else []
    for exchange in exchanges:
        turns += [Message("user", exchange.ask), Message("assistant", exchange.reply)]
    return turns
