"""A topic: many ways to ask one thing, a few ways to say it, and what a right reply must mention.

A topic file holds blocks of lines, parted by empty lines. `ask:` lines are questions, `then:` lines shorter
ones for the middle of a conversation, `say:` lines replies (`\\n` breaks the line), `need:` lines words that
a right reply holds, one of them where ` / ` parts several. They tell the topic's replies from those of others.
`vary:` lines are questions with many choices in each, for training alone.

A topic may also give names to what it is about, ` / ` between them: `thing:` names one thing, `things:` several,
`key:` a key, `do:` what somebody wants to do. Each name fits every frame of its kind in wording/frames.txt;
`then_thing:` and so on are the frames for the middle of a conversation. The frame decides the side of the split.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.recipe.checks import mentions
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_FOLDER = Path(__file__).resolve().parents[1] / "texts" / "topics"
_FRAMES = read_wording("frames")
_KINDS = ("thing", "things", "key", "do")


@dataclass(frozen=True)
class Topic:
    """Questions and replies that belong together; `needs` are the words a right reply holds.

    `names` are what it is called, each with the kind of frames that it fits.
    """

    asks: tuple[str, ...]
    varied: tuple[str, ...]
    follow_ups: tuple[str, ...]
    replies: tuple[str, ...]
    needs: tuple[str, ...]
    names: tuple[tuple[str, str], ...]


def read_topics(name: str) -> tuple[Topic, ...]:
    """The topics of one file in the topics folder."""
    text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return tuple(_topic(block) for block in text.split("\n\n") if block.startswith("ask: "))


def _topic(block: str) -> Topic:
    fields: dict[str, list[str]] = {key: [] for key in ("ask", "vary", "then", "say", "need", *_KINDS)}
    for line in block.strip().split("\n"):
        key, _, value = line.partition(": ")
        fields[key].append(value.replace("\\n", "\n"))
    names = tuple((kind, name) for kind in _KINDS for line in fields[kind] for name in line.split(" / "))
    asks, varied, follow_ups, replies, needs = (tuple(fields[key]) for key in ("ask", "vary", "then", "say", "need"))
    return Topic(asks, varied, follow_ups, replies, needs, names)


def _question(draw: Draw, topic: Topic, short: bool) -> str:
    """The topic's own question, or one of its names in a frame."""
    own = topic.follow_ups if short else topic.asks
    if not topic.names or (own and draw.chance(0.5)):
        return draw.ask(own, () if short else topic.varied)
    kind, name = draw.any(topic.names)
    return draw.ask(_FRAMES[f"then_{kind}" if short else kind], t=name)


def exchange(draw: Draw, topic: Topic, follow_up: bool = False) -> Exchange:
    """The topic asked and answered; as a follow-up, in a short form where it has one."""
    short = follow_up and bool(topic.follow_ups or topic.names)
    return Exchange(_question(draw, topic, short), draw.say(topic.replies), mentions(*topic.needs), short)
