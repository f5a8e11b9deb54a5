"""The letters of several words at once, for training alone: each reply teaches what many single questions would.

A model never sees letters, only pieces of words, and has to learn of each piece which letters it is made of.
"""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import enumerated, handed_back
from assets.recipe.wording import read_wording

_WORDING = read_wording("letter_practice")
_OTHERS = tuple(dict.fromkeys((*words.ANIMALS, *words.FOODS, *words.OBJECTS, *words.JOBS)))
_SHORT = tuple(word for word in words.WORDS if len(word) <= 5)


def spaced(word: str) -> str:
    """The word's letters with hyphens between them."""
    return "-".join(word)


def _some(draw: Draw, low: int, high: int) -> list[str]:
    """Different words, mostly of the pool from which single ones are asked, now and then a made-up one."""
    pool = words.WORDS if draw.chance(0.7) else _OTHERS
    items = draw.words(pool, draw.whole(low, high))
    if draw.chance(0.15):
        items[draw.whole(0, len(items) - 1)] = draw.nonsense(1, 2)
    return list(dict.fromkeys(items))


def _typed(draw: Draw, items: list[str]) -> str:
    return draw.any((", ".join(items), " ".join(items), enumerated(items)))


def _spell(draw: Draw) -> Exchange:
    items = _some(draw, 2, 6)
    told = ", ".join(f"{item} {spaced(item)}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["spell"], x=_typed(draw, items)), told)


def _count(draw: Draw) -> Exchange:
    items = _some(draw, 2, 5)
    told = ", ".join(f"{item} {spaced(item)} {len(item)}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["count"], x=_typed(draw, items)), told)


def _backwards(draw: Draw) -> Exchange:
    items = _some(draw, 1, 3)
    told = ", ".join(f"{item} {spaced(item)} {spaced(item[::-1])}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["backwards"], x=_typed(draw, items)), told)


def _ends(draw: Draw) -> Exchange:
    items = _some(draw, 2, 6)
    way, at = draw.any((("first", 0), ("last", -1)))
    told = ", ".join(f"{item} {item[at]}" for item in items)
    return handed_back(draw, draw.ask(_WORDING[way], x=_typed(draw, items)), told)


def _cases(draw: Draw) -> Exchange:
    """Words in upper case beside the same words in lower case, in either order, or as capitalised words."""
    items = draw.words(_SHORT, draw.whole(3, 7))
    way = draw.any(("upper", "upper", "upper", "lower", "lower", "title"))
    shown = [item.upper() for item in items] if way == "lower" else items
    done = {"upper": str.upper, "lower": str.lower, "title": str.title}[way]
    told = ", ".join(done(item) for item in items)
    if way == "upper" and draw.chance(0.3):
        told = ", ".join(f"{item} {item.upper()}" for item in items)
        return handed_back(draw, draw.ask(_WORDING["beside"], x=_typed(draw, items)), told)
    return handed_back(draw, draw.ask(_WORDING[way], x=", ".join(shown)), told)


_WAYS = (*[_spell] * 8, *[_cases] * 6, _count, _backwards, _ends)


def compose(draw: Draw) -> list[Exchange]:
    """One exercise."""
    return [draw.any(_WAYS)(draw)]
