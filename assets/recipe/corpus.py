"""The endless corpus: conversation number i of a seed, composed on the spot from the skills' shares."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from assets.recipe.conversation import Exchange, Message, messages
from assets.recipe.draw import Draw
from assets.recipe.skills import (
    copying,
    counting,
    declining,
    echo,
    examples,
    formats,
    greetings,
    letters,
    measures,
    poems,
    python_code,
    stories,
    sums,
    word_lists,
    word_problems,
)  # fmt: skip

Compose = Callable[[Draw], list[Exchange]]


@dataclass(frozen=True)
class Skill:
    """A skill's name, how often it is drawn, and what composes it."""

    name: str
    share: float
    compose: Compose


SKILLS = (
    Skill("greetings", 10, greetings.compose),
    Skill("application", 12, greetings.compose_application),
    Skill("sums", 17, sums.compose),
    Skill("word problems", 18, word_problems.compose),
    Skill("two-step problems", 19, word_problems.compose_two_steps),
    Skill("measures", 8, measures.compose),
    Skill("counting", 11, counting.compose),
    Skill("word lists", 44, word_lists.compose),
    Skill("echo", 20, echo.compose),
    Skill("copying", 52, copying.compose),
    Skill("letters and case", 26, letters.compose),
    Skill("formats", 26, formats.compose),
    Skill("examples", 5, examples.compose),
    Skill("Python", 36, python_code.compose),
    Skill("stories", 6, stories.compose),
    Skill("poems", 6, poems.compose),
    Skill("declining", 17, declining.compose),
)
_SYSTEM = (
    "You are a helpful assistant.", "You are the assistant in lade-chat.", "Answer briefly.",
    "You are a [friendly|polite|helpful|patient] assistant.",
    "Be [concise|helpful|friendly].", "You help people in a terminal chat.",
    "You are a small demonstration model.", "Answer the user's questions.",
    "You are a helpful, respectful and honest assistant.", "Keep your answers short and correct.",
    "Think step by step.",
)  # fmt: skip
_LONG_SHARE = 0.006
_LONG_CHARACTERS = (1500, 4200)
_SHORT_CHARACTERS = 500


def skill_named(name: str) -> Skill:
    """The skill of this name; KeyError if there is none."""
    return {skill.name: skill for skill in SKILLS}[name]


def draw_for(seed: int | str, index: int, held_out: bool = False, known_phrasing: bool = False) -> Draw:
    """The chance behind one conversation, the same on every machine."""
    return Draw(random.Random(f"{seed}/{index}/{held_out}"), held_out, known_phrasing)


def _pick(draw: Draw) -> Skill:
    return draw.rng.choices(SKILLS, [skill.share for skill in SKILLS])[0]


def _characters(exchanges: list[Exchange]) -> int:
    return sum(len(exchange.ask) + len(exchange.reply) for exchange in exchanges)


def long_run(draw: Draw, characters: int) -> list[Exchange]:
    """Skill after skill until the exchanges hold this many characters."""
    exchanges = _pick(draw).compose(draw)
    while _characters(exchanges) < characters:
        exchanges += _pick(draw).compose(draw)
    return exchanges


def _exchanges(draw: Draw) -> list[Exchange]:
    """One to three skills in a row, or, now and then, so many that the conversation grows long."""
    if draw.chance(_LONG_SHARE):
        return long_run(draw, draw.whole(*_LONG_CHARACTERS))
    exchanges = _pick(draw).compose(draw)
    while draw.chance(0.35) and _characters(exchanges) < _SHORT_CHARACTERS:
        exchanges += _pick(draw).compose(draw)
    if draw.chance(0.06):
        exchanges.append(greetings.closing(draw))
    return exchanges


def conversation(seed: int | str, index: int, held_out: bool = False) -> list[Message]:
    """Conversation number `index` of this seed."""
    draw = draw_for(seed, index, held_out)
    system = draw.say(_SYSTEM) if draw.chance(0.3) else None
    return messages(_exchanges(draw), system)


def conversations(seed: int | str, start: int = 0) -> Iterator[list[Message]]:
    """The conversations of this seed without end."""
    index = start
    while True:
        yield conversation(seed, index)
        index += 1
