"""The letters of the user's words: spelled, counted, upper case, lower case, capitals.

In training also those of several words at once, where each reply teaches what many single questions would: a model
never sees letters, only pieces of words, and has to learn of each piece which letters it is made of.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw, set_aside
from assets.recipe.skills.user_words import enumerated, handed_back
from assets.recipe.wording import read_wording

_WORDING = read_wording("letters")

# Upper case is learnt word by word, since its pieces are others: few words, and short ones.
_EVERYDAY = words.WORDS[:420]
_SHORT_WORDS = tuple(word for word in _EVERYDAY if len(word) <= 5)
_PRACTICE_SHARE = 0.5
_CASES: dict[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower, "title": str.title}
_OTHERS = tuple(dict.fromkeys((*words.ANIMALS, *words.FOODS, *words.OBJECTS, *words.JOBS)))


def spaced(word: str) -> str:
    """The word's letters with hyphens between them."""
    return "-".join(word)


def _word(draw: Draw) -> str:
    pool = (
        _EVERYDAY
        if draw.chance(0.5)
        else words.WORDS
        if draw.chance(0.4)
        else draw.any((words.ANIMALS, words.FOODS, words.OBJECTS, words.JOBS))
    )
    return draw.any(pool) if draw.chance(0.9) else draw.nonsense(1, 2)


def _counted(ask: str, word: str, follow_up: bool = False) -> Exchange:
    answer = f"{spaced(word)} has {len(word)} letters."
    return Exchange(ask, answer, exactly_in(answer), follow_up)


def _spell(draw: Draw) -> list[Exchange]:
    word = _word(draw)
    ask = draw.ask(_WORDING["spell"], _WORDING["spell varied"], x=word)
    exchanges = [Exchange(ask, spaced(word), exactly_in(spaced(word)))]
    if draw.chance(0.2):
        word = _word(draw)
        ask = draw.ask(_WORDING["then_spell"], x=word)
        exchanges.append(Exchange(ask, spaced(word), exactly_in(spaced(word)), True))
    if draw.chance(0.3):
        exchanges.append(_counted(draw.ask(_WORDING["then_letters"]), word, True))
    return exchanges


def _how_many(draw: Draw) -> list[Exchange]:
    word = _word(draw)
    return [_counted(draw.ask(_WORDING["letters"], _WORDING["letters varied"], x=word), word)]


def _case(draw: Draw) -> list[Exchange]:
    """Words into another case, and perhaps into a third."""
    way = draw.any(("upper", "upper", "lower", "title"))
    text = " ".join(draw.words(_SHORT_WORDS, draw.any((1, 1, 2, 2, 3, 4)) if way != "title" else draw.whole(2, 4)))
    shown = text.upper() if way == "lower" and draw.chance(0.7) else text.title() if way == "lower" else text
    exchanges = [handed_back(draw, draw.ask(_WORDING[way], _WORDING[f"{way} varied"], x=shown), _CASES[way](text))]
    if draw.chance(0.35):
        way = draw.any(tuple(case for case in _CASES if case != way))
        exchanges.append(handed_back(draw, draw.ask(_WORDING[f"then_{way}"]), _CASES[way](text), True))
    return exchanges


def _sentence(draw: Draw) -> list[Exchange]:
    for _ in range(50):
        noun, other = draw.rng.sample(words.WORDS, 2)
        animal, second = draw.rng.sample(words.ANIMALS, 2)
        plain = draw.say(_WORDING["plain_sentence"], p=animal, r=second, o=noun, q=other)
        if set_aside(plain) == draw.held_out:
            break
    return [handed_back(draw, draw.ask(_WORDING["sentence"], x=plain), plain[0].upper() + plain[1:] + ".")]


def _some(draw: Draw, low: int, high: int) -> list[str]:
    """Different words, mostly of the pool from which single ones are asked, now and then a made-up one."""
    pool = _EVERYDAY if draw.chance(0.5) else words.WORDS if draw.chance(0.5) else _OTHERS
    items = draw.words(pool, draw.whole(low, high))
    if draw.chance(0.15):
        items[draw.whole(0, len(items) - 1)] = draw.nonsense(1, 2)
    return list(dict.fromkeys(items))


def _typed(draw: Draw, items: list[str]) -> str:
    return draw.any((", ".join(items), " ".join(items), enumerated(items)))


def _spell_some(draw: Draw) -> Exchange:
    items = _some(draw, 2, 6)
    told = ", ".join(f"{item} {spaced(item)}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["many spell"], x=_typed(draw, items)), told)


def _count_some(draw: Draw) -> Exchange:
    items = _some(draw, 2, 5)
    told = ", ".join(f"{item} {spaced(item)} {len(item)}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["many count"], x=_typed(draw, items)), told)


def _backwards(draw: Draw) -> Exchange:
    items = _some(draw, 1, 3)
    told = ", ".join(f"{item} {spaced(item)} {spaced(item[::-1])}" for item in items)
    return handed_back(draw, draw.ask(_WORDING["many backwards"], x=_typed(draw, items)), told)


def _ends(draw: Draw) -> Exchange:
    items = _some(draw, 2, 6)
    way, at = draw.any((("first", 0), ("last", -1)))
    told = ", ".join(f"{item} {item[at]}" for item in items)
    return handed_back(draw, draw.ask(_WORDING[f"many {way}"], x=_typed(draw, items)), told)


def _cases_of_some(draw: Draw) -> Exchange:
    """Words in upper case beside the same words in lower case, in either order, or as capitalised words."""
    items = draw.words(_SHORT_WORDS if draw.chance(0.7) else words.WORDS, draw.whole(3, 7))
    way = draw.any(("upper", "upper", "upper", "lower", "lower", "title"))
    shown = [item.upper() for item in items] if way == "lower" else items
    done = _CASES[way]
    told = ", ".join(done(item) for item in items)
    if way == "upper" and draw.chance(0.3):
        told = ", ".join(f"{item} {item.upper()}" for item in items)
        return handed_back(draw, draw.ask(_WORDING["many beside"], x=_typed(draw, items)), told)
    return handed_back(draw, draw.ask(_WORDING[f"many {way}"], x=", ".join(shown)), told)


_PRACTICE = (*[_spell_some] * 8, *[_cases_of_some] * 6, _count_some, _backwards, _ends)


def compose(draw: Draw) -> list[Exchange]:
    """One look at letters; in training, half of the time, at those of several words."""
    if not draw.held_out and draw.chance(_PRACTICE_SHARE):
        return [draw.any(_PRACTICE)(draw)]
    return draw.any((*[_spell] * 4, *[_how_many] * 2, *[_case] * 7, _sentence))(draw)
