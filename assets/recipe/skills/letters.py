"""The letters of the user's words: spelled, counted, upper case, lower case, capitals.

In training also those of several words at once, where each reply teaches what many single questions would: a model
never sees letters, only pieces of words, and has to learn of each piece which letters it is made of.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exact, exactly_in, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import enumerated, handed_back
from assets.recipe.words import read_wording

_WORDING = read_wording("letters")
# Upper case is learnt word by word, since its pieces are others: few words, and short ones.
_EVERYDAY = words.WORDS[:420]
_SHORT_WORDS = tuple(word for word in _EVERYDAY if len(word) <= 5)
_PRACTICE_SHARE = 0.5
_CASES: dict[str, Callable[[str], str]] = {"upper": str.upper, "lower": str.lower, "title": str.title}
_THINGS = (words.ANIMALS, words.FOODS, words.OBJECTS, words.JOBS)
_OTHERS = tuple(dict.fromkeys(thing for things in _THINGS for thing in things))


def spaced(word: str) -> str:
    """The word's letters with hyphens between them."""
    return "-".join(word)


def _word(draw: Draw) -> str:
    pool = _EVERYDAY if draw.chance(0.4) else words.every_word() if draw.chance(0.6) else draw.any(_THINGS)
    return draw.any(pool) if draw.chance(0.85) else draw.nonsense()


def _shown(draw: Draw, word: str) -> str:
    """The word as users type it, now and then in quotes."""
    return draw.any((word, word, word, word, word, f'"{word}"', f"'{word}'"))


def _counted(ask: str, word: str, follow_up: bool = False) -> Exchange:
    return exact(ask, f"{spaced(word)} has {len(word)} letters.", follow_up)


def _spell(draw: Draw) -> list[Exchange]:
    word = _word(draw)
    if draw.chance(0.33):
        return [_counted(draw.asked(_WORDING, "letters", x=_shown(draw, word)), word)]
    exchanges = [exact(draw.asked(_WORDING, "spell", x=_shown(draw, word)), spaced(word))]
    if draw.chance(0.2):
        word = _word(draw)
        exchanges.append(exact(draw.asked(_WORDING, "then_spell", x=word), spaced(word), True))
    if draw.chance(0.3):
        exchanges.append(_counted(draw.asked(_WORDING, "then_letters"), word, True))
    return exchanges


def _case(draw: Draw) -> list[Exchange]:
    """Words into another case, and perhaps into a third."""
    way = draw.any(("upper", "upper", "lower", "title"))
    count, style = draw.any((1, 1, 2, 2, 3, 4)) if way != "title" else draw.whole(1, 5), draw.rng.random()
    text = " ".join(draw.words(_SHORT_WORDS if style < 0.4 else words.every_word(), count))
    if style > 0.75:
        text = f"{text} {draw.name().lower()}"
    shown = text.upper() if way == "lower" and draw.chance(0.7) else text.title() if way == "lower" else text
    if way == "upper" and style > 0.6:
        shown = draw.any((text.title(), text.capitalize()))
    exchanges = [handed_back(draw, draw.asked(_WORDING, way, x=_shown(draw, shown)), _CASES[way](text))]
    if draw.chance(0.35):
        way = draw.any(tuple(case for case in _CASES if case != way))
        exchanges.append(handed_back(draw, draw.asked(_WORDING, f"then_{way}"), _CASES[way](text), True))
    return exchanges


def _sentence(draw: Draw) -> list[Exchange]:
    def make() -> str:
        (noun, other), (animal, second) = draw.rng.sample(words.WORDS, 2), draw.rng.sample(words.ANIMALS, 2)
        return draw.say(_WORDING["plain_sentence"], p=animal, r=second, o=noun, q=other)

    plain = draw.own(make)
    return [handed_back(draw, draw.asked(_WORDING, "sentence", x=plain), plain[0].upper() + plain[1:] + ".")]


def _one(draw: Draw) -> list[Exchange]:
    """One question about one word's letters, answered from the word spelled out."""
    word = _word(draw)
    way = draw.any(("backwards", "backwards", "backwards", "first", "last", "occurs", "vowels", "contains"))
    letter = draw.any(word) if draw.chance(0.7) else draw.any("aeiourstlnmpd")
    ask = draw.asked(_WORDING, f"one {way}", x=_shown(draw, word), y=letter)
    if way in ("first", "last"):
        return [exact(ask, f"The {way} letter of {word} is {word[0 if way == 'first' else -1]}.")]
    if way == "contains":
        answer = "Yes:" if letter in word else "No:"
        return [Exchange(ask, f"{answer} {spaced(word)}.", mentions(answer))]
    if way == "backwards":
        turned = word[::-1]
        return [Exchange(ask, f"{spaced(word)}, {spaced(turned)}: {turned}", exactly_in(turned))]
    found = [one for one in word if one in ("aeiou" if way == "vowels" else letter)]
    told = f"{spaced(word)}: {', '.join(found) or 'none'}. That makes {len(found)}."
    return [Exchange(ask, told, ends_with_numbers(len(found)))]


def _some(draw: Draw, low: int, high: int) -> list[str]:
    """Different words, mostly of the pool from which single ones are asked, now and then a made-up one."""
    pool = _EVERYDAY if draw.chance(0.3) else words.every_word() if draw.chance(0.7) else _OTHERS
    items = draw.words(pool, draw.whole(low, high))
    return [*items[1:], draw.nonsense()] if draw.chance(0.3) else items


def _many(draw: Draw) -> Exchange:
    """The letters of several words at once."""
    way = draw.any((*["spell"] * 8, *["case"] * 6, "count", "backwards", "ends"))
    if way == "case":
        return _cases_of_some(draw)
    items = _some(draw, 1 if way == "backwards" else 2, {"backwards": 3, "count": 5}.get(way, 6))
    if way == "ends":
        way = draw.any(("first", "last"))
    told: dict[str, Callable[[str], str]] = {
        "spell": spaced, "first": lambda word: word[0], "last": lambda word: word[-1],
        "count": lambda word: f"{spaced(word)} {len(word)}",
        "backwards": lambda word: f"{spaced(word)} {spaced(word[::-1])}",
    }  # fmt: skip
    typed = draw.any((", ".join(items), " ".join(items), enumerated(items)))
    answer = ", ".join(f"{item} {told[way](item)}" for item in items)
    return handed_back(draw, draw.asked(_WORDING, f"many {way}", x=typed), answer)


def _cases_of_some(draw: Draw) -> Exchange:
    """Words in upper case beside the same words in lower case, in either order, or as capitalised words."""
    items = draw.words(_SHORT_WORDS if draw.chance(0.4) else words.every_word(), draw.whole(3, 7))
    items = [item if draw.chance(0.8) else draw.name().lower() for item in items]
    way = draw.any(("upper", "upper", "upper", "lower", "lower", "title"))
    shown = [item.upper() for item in items] if way == "lower" else items
    if way == "upper" and draw.chance(0.3):
        typed = draw.any((", ".join(items), " ".join(items), enumerated(items)))
        answer = ", ".join(f"{item} {item.upper()}" for item in items)
        return handed_back(draw, draw.asked(_WORDING, "many beside", x=typed), answer)
    return handed_back(
        draw, draw.asked(_WORDING, f"many {way}", x=", ".join(shown)), ", ".join(map(_CASES[way], items))
    )


def compose(draw: Draw) -> list[Exchange]:
    """One look at letters; in training, half of the time, at those of several words."""
    if not draw.held_out and draw.chance(_PRACTICE_SHARE):
        return [_many(draw)]
    return draw.any((*[_spell] * 6, *[_case] * 7, *[_one] * 7, _sentence))(draw)
