"""A topic: many ways to ask one thing, several ways to say it, and what a right reply must mention.

A topic file holds blocks of lines, parted by empty lines. `ask:` lines are questions, `then:` lines shorter
ones for the middle of a conversation, `say:` lines replies (`\\n` breaks the line), `need:` lines words that
a right reply holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.recipe.checks import contains
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw

_FOLDER = Path(__file__).resolve().parents[1] / "texts" / "topics"


@dataclass(frozen=True)
class Topic:
    """Questions and replies that belong together; `needs` are the words a right reply holds."""

    asks: tuple[str, ...]
    follow_ups: tuple[str, ...]
    replies: tuple[str, ...]
    needs: tuple[str, ...]


def read_topics(name: str) -> tuple[Topic, ...]:
    """The topics of one file in the topics folder."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return tuple(_topic(block) for block in text.split("\n\n") if block.startswith("ask: "))


def _topic(block: str) -> Topic:
    fields: dict[str, list[str]] = {"ask": [], "then": [], "say": [], "need": []}
    for line in block.strip().split("\n"):
        key, _, value = line.partition(": ")
        fields[key].append(value.replace("\\n", "\n"))
    return Topic(*(tuple(fields[key]) for key in ("ask", "then", "say", "need")))


def exchange(draw: Draw, topic: Topic, follow_up: bool = False) -> Exchange:
    """The topic asked and answered; as a follow-up, in a short form where it has one."""
    short = follow_up and bool(topic.follow_ups)
    asks = topic.follow_ups if short else topic.asks
    return Exchange(draw.ask(asks), draw.say(topic.replies), contains(*topic.needs), short)
