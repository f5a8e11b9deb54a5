"""The letters of the user's words: spelled, counted, upper case, lower case, capitals."""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw, set_aside
from assets.recipe.skills import letter_practice
from assets.recipe.skills.letter_practice import spaced
from assets.recipe.skills.user_words import handed_back
from assets.recipe.wording import read_wording

_WORDING = read_wording("letters")

# Upper case is learnt word by word, since its pieces are others: few words, and short ones.
_SHORT_WORDS = tuple(word for word in words.WORDS if len(word) <= 5)
_PRACTICE_SHARE = 0.5
_CASES: dict[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower, "title": str.title}


def _word(draw: Draw) -> str:
    pool = words.WORDS if draw.chance(0.65) else draw.any((words.ANIMALS, words.FOODS, words.OBJECTS, words.JOBS))
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


def compose(draw: Draw) -> list[Exchange]:
    """One look at letters; in training, half of the time, at those of several words."""
    if not draw.held_out and draw.chance(_PRACTICE_SHARE):
        return letter_practice.compose(draw)
    return draw.any((*[_spell] * 4, *[_how_many] * 2, *[_case] * 7, _sentence))(draw)
