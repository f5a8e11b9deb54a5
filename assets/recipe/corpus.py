"""The endless corpus: conversation number i of a seed, composed on the spot from the skills' shares."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from assets.recipe.conversation import Exchange, Message, messages
from assets.recipe.draw import Draw
from assets.recipe.skills.formats import markdown
from assets.recipe.skills.lists import examples, word_lists
from assets.recipe.skills.measures import units, word_problems
from assets.recipe.skills.numbers import counting, sums
from assets.recipe.skills.python import functions
from assets.recipe.skills.text import copying, letters
from assets.recipe.skills.writing import poems, stories, talk
from assets.recipe.words import read_wording


@dataclass(frozen=True)
class Skill:
    """A skill's name, how often it is drawn, and what composes it."""

    name: str
    share: float
    compose: Callable[[Draw], list[Exchange]]


SKILLS = (
    Skill("greetings", 50, talk.greetings),
    Skill("application", 225, talk.application),
    Skill("sums", 150, sums.compose),
    Skill("word problems", 150, word_problems.compose),
    Skill("two-step problems", 430, lambda draw: word_problems.compose(draw, 1)),
    Skill("measures", 150, units.compose),
    Skill("counting", 190, counting.compose),
    Skill("word lists", 280, word_lists.compose),
    Skill("echo", 130, copying.echo),
    Skill("copying", 450, copying.compose),
    Skill("letters and case", 230, letters.compose),
    Skill("formats", 270, markdown.compose),
    Skill("examples", 200, examples.compose),
    Skill("Python", 250, functions.compose),
    Skill("stories", 80, stories.compose),
    Skill("poems", 34, poems.compose),
    Skill("declining", 125, talk.declining),
)
_SYSTEM = read_wording("writing/greetings")["system"]
_LONG_SHARE = 0.008
_LONG_CHARACTERS = (1500, 4200)
_SHORT_CHARACTERS = 500


def skill_named(name: str) -> Skill:
    """The skill of this name; KeyError if there is none."""
    return {skill.name: skill for skill in SKILLS}[name]


def draw_for(seed: int | str, index: int, held_out: bool = False, known_phrasing: bool = False) -> Draw:
    """The chance behind one conversation, the same on every machine."""
    return Draw(random.Random(f"{seed}/{index}/{held_out}"), held_out, known_phrasing)


def _some_skill(draw: Draw) -> list[Exchange]:
    return draw.rng.choices(SKILLS, [skill.share for skill in SKILLS])[0].compose(draw)


def _characters(exchanges: list[Exchange]) -> int:
    return sum(len(exchange.ask) + len(exchange.reply) for exchange in exchanges)


def long_run(draw: Draw, characters: int) -> list[Exchange]:
    """Skill after skill until the exchanges hold this many characters."""
    exchanges = _some_skill(draw)
    while _characters(exchanges) < characters:
        exchanges += _some_skill(draw)
    return exchanges


def conversation(seed: int | str, index: int) -> list[Message]:
    """Conversation number `index` of this seed: one to three skills in a row, or, now and then, many."""
    draw = draw_for(seed, index)
    system = draw.say(_SYSTEM) if draw.chance(0.3) else None
    if draw.chance(_LONG_SHARE):
        return messages(long_run(draw, draw.whole(*_LONG_CHARACTERS)), system)
    exchanges = _some_skill(draw)
    while draw.chance(0.42) and _characters(exchanges) < _SHORT_CHARACTERS:
        exchanges += _some_skill(draw)
    if draw.chance(0.06):
        exchanges.append(talk.closing(draw))
    return messages(exchanges, system)
