"""The words that a user brings: which they are, how they are typed, and how a reply hands them back."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw

_THINGS = (words.ANIMALS, words.FOODS, words.CITIES, words.OBJECTS, words.COLOURS, words.JOBS)
_ORDERED = tuple(words.in_one_piece(pool) for pool in (words.ANIMALS, words.FOODS, words.OBJECTS, words.CITIES))
_ORDERED_WORDS, _ORDERED_NAMES = words.in_one_piece(words.WORDS), words.in_one_piece(words.NAMES)
_MIXED = tuple(dict.fromkeys((*_ORDERED_WORDS, *_ORDERED[0], *_ORDERED[1], *_ORDERED[2])))
_SHORT_NONSENSE = 5
# A reply never begins with the user's word: only after a space is it the same piece as in the question.
_OPEN = ("Here you go: ", "Sure: ", "Here it is: ")


def short_nonsense(draw: Draw) -> str:
    """A made-up word of few letters, and so of few pieces."""
    while len(word := draw.nonsense()) > _SHORT_NONSENSE:
        pass
    return word


def any_words(draw: Draw, low: int, high: int) -> list[str]:
    """Words to copy: known ones mostly, and made-up ones."""
    count = draw.whole(low, high)
    style = draw.rng.random()
    if style < 0.55:
        return draw.words(words.WORDS, count)
    if style < 0.68:
        return draw.words(words.NAMES, count)
    if style < 0.82:
        return draw.words(draw.any(_THINGS), count)
    return list(dict.fromkeys(short_nonsense(draw) for _ in range(count)))


def words_in_order(draw: Draw, count: int) -> list[str]:
    """Words to put in order: few enough of them that a small model learns where each belongs."""
    style = draw.rng.random()
    if style < 0.58:
        return draw.words(_ORDERED_WORDS, count)
    if style < 0.74:
        return draw.words(_ORDERED_NAMES, count)
    return draw.words(_MIXED if style < 0.86 else draw.any(_ORDERED), count)


def few(draw: Draw) -> int:
    """How long a list is: short ones are usual, and learnt first."""
    return draw.any((2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7))


def enumerated(items: list[str]) -> str:
    """The items in a sentence: commas between them, "and" before the last."""
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else items[0]


def typed(draw: Draw, items: list[str]) -> str:
    """The items as users type them in one line."""
    style = draw.rng.random()
    if style < 0.6:
        return ", ".join(items)
    if style < 0.78:
        return " ".join(items)
    if style < 0.92:
        return enumerated(items)
    if style < 0.96:
        return "; ".join(items)
    return ", ".join(f'"{item}"' for item in items) if style < 0.98 else f'"{", ".join(items)}"'


def in_lines(draw: Draw, items: list[str]) -> str:
    """The items on lines of their own, with bullets or without."""
    mark = draw.any(("- ", "- ", "* ", ""))
    return "\n".join(mark + item for item in items)


def handed_back(draw: Draw, ask: str, answer: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply is a few polite words and the answer."""
    return Exchange(ask, draw.any(_OPEN) + answer, exactly_in(answer), follow_up)
