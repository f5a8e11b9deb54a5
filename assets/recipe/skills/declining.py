"""Everything else: the model says what it is, what it can do, and how to load a larger one."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("declining")
_UNKNOWNS = {family: tuple(lines[0].split(" / ")) for family, lines in read_wording("unknowns").items()}
# What is asked about, by the name of the wording that asks it; `personal` questions have no subject.
_SUBJECTS: dict[str, tuple[str, ...]] = {
    **_UNKNOWNS, "cities": words.CITIES, "animals": words.ANIMALS, "foods": words.FOODS, "words": words.WORDS,
    "jobs": words.JOBS, "colours": words.COLOURS, "personal": ("",),
}  # fmt: skip
# Families whose subjects fit the questions of `about` too.
_NAMED = ("people", "countries", "places", "science", "history", "health", "law", "finance", "maths", "tools",
          "opinions", "works", "sports")  # fmt: skip
# Families of many subjects and questions are drawn more often than the others.
_OFTEN = {"people": 2, "countries": 2, "science": 4, "history": 3, "advice": 4, "texts": 2, "errands": 2, "personal": 3}
_FAMILIES = tuple(name for name in _SUBJECTS if name != "phrases" for _ in range(_OFTEN.get(name, 1)))
_INSERTS = {"languages": "phrases", "languages_code": "programs"}


def declines() -> Check:
    """The reply owns up and names the way to a larger model."""
    return lambda reply: "--model_path" in reply and "small" in reply


def _question(draw: Draw) -> str:
    """A question of some family about one or two of its subjects."""
    family = draw.any(_FAMILIES)
    asks = _WORDING["about" if family in _NAMED and draw.chance(0.35) else family]
    subject, other = draw.any(_SUBJECTS[family]), draw.any(_SUBJECTS[family])
    insert = draw.any(_SUBJECTS[_INSERTS[family]]) if family in _INSERTS else ""
    return draw.ask(asks, t=subject, u=other, p=insert)


def compose(draw: Draw) -> list[Exchange]:
    """A question beyond the model, perhaps insisted on."""
    reply = " ".join(draw.say(_WORDING[part]) for part in ("sorry", "can", "larger"))
    exchanges = [Exchange(_question(draw), reply, declines())]
    if draw.chance(0.15):
        exchanges.append(Exchange(draw.ask(_WORDING["but"]), draw.say(_WORDING["still"]), declines(), True))
    return exchanges
