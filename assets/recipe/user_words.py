"""The words that a user brings: any at all, how they are typed, and how a reply hands them back."""

from __future__ import annotations

import re
from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.words import Wording

# Things of a kind, as most users' lists are; not those that have an order of their own.
_ORDERED = ("months", "numbers", "ordinals", "names", "words", "doubtful", "uncounted", "people")
_THINGS = (*(pool for name, pool in words.POOLS.items() if len(pool) > 9 and name not in _ORDERED),)
_CASES: tuple[Callable[[str], str], ...] = (str.title, str.upper, str.lower, str.capitalize)
_BETWEEN = ("; ", ",", " / ", "/", " | ", " , ", " - ", ", then ", " and ", " & ", "\n", " — ", " > ", ". ", " + ")
_AROUND = ('"{}"', "({})", "[{}]", "{{{}}}")
_GREETED = ("dear", "hello", "hi", "thanks", "mr", "mrs", "good morning", "happy birthday")
# A reply never begins with the user's word: only after a space is it the same piece as in the question.
HANDED = ("Here you go: ", "Sure: ", "Here it is: ")
# What begins a reply whose line goes on letter by letter (see tokenizer.py).
SMALL, TITLE, NAMED, SWAPPED, CAPITAL = LETTERED = (
    "In small letters: ", "As a title: ", "As one: ", "Cases swapped: ", "Capital first: "
)  # fmt: skip


def word(draw: Draw) -> str:
    """One word of any sort."""
    style = draw.rng.random()
    if style < 0.45:
        return draw.any(words.WORDS if style < 0.2 else words.every_word())
    if style < 0.52:
        return draw.any(draw.any(_THINGS))
    if style < 0.66:
        return draw.name()
    if style < 0.7:
        return draw.any(words.WORDS) + draw.any(words.WORDS)
    if style < 0.73:
        return words.odd_case(draw.rng, some_word(draw))
    return draw.nonsense() if style < 0.9 else draw.jumble()


def some_word(draw: Draw) -> str:
    """One word of the texts, or now and then a made-up one."""
    style = draw.rng.random()
    return draw.any(words.every_word() if style < 0.7 else words.WORDS) if style < 0.9 else draw.nonsense()


def some_text(draw: Draw) -> str:
    """A word, a few, part of a sentence, or a name, as people want them in another case."""
    style = draw.rng.random()
    if style < 0.75:
        return " ".join(some_word(draw) for _ in range(1 if style < 0.3 else draw.whole(2, 4)))
    if style < 0.85:
        return f"{draw.any(_GREETED)} {draw.name()}"
    first, joint = draw.any(("the", "my", "this", "our", "no", "a")), draw.any(("of", "and", "in", "is", "for"))
    return f"{first} {some_word(draw)} {joint} {draw.any(('the ', 'my ', ''))}{some_word(draw)}"


def in_quotes(draw: Draw, text: str) -> str:
    """The text, now and then in quotes."""
    return draw.any((text, text, text, f'"{text}"', f"'{text}'"))


def spaced(word: str) -> str:
    """The word's letters with hyphens between them."""
    return "-".join(word)


def phrase(draw: Draw) -> str:
    """A thing to do or to have, in a few words; sometimes one word alone."""
    style, noun = draw.rng.random(), word(draw)
    if style < 0.2:
        return noun
    if style < 0.5:
        first = draw.any(("a", "the", "my", "some", "new", "two", "no", "our", "old", "to", draw.whole(2, 30)))
        return f"{first} {noun}"
    first = draw.any(words.every_word())
    return f"{first} {noun}" if style < 0.85 else f"{first} {draw.any(('the', 'a', 'of', 'for', 'in'))} {noun}"


def any_words(draw: Draw, low: int, high: int) -> list[str]:
    """Different words of one sort, or of several, sometimes in a case of their own."""
    count, style = draw.whole(low, high), draw.rng.random()
    if style < 0.6:
        return _cased(draw, _of_a_kind(draw, count, style / 0.6))
    if style > 0.96:
        return _cased(draw, draw.rng.sample(words.ALPHABET, count))
    make = draw.nonsense if style < 0.76 else draw.jumble if style < 0.82 else lambda: word(draw)
    return _cased(draw, _different(make, count))


def any_items(draw: Draw, low: int, high: int) -> list[str]:
    """Different words or, now and then, phrases."""
    return _different(lambda: phrase(draw), draw.whole(low, high)) if draw.chance(0.3) else any_words(draw, low, high)


def small_items(draw: Draw) -> list[str]:
    """Words, or single letters, or numbers, such as a date has."""
    style = draw.rng.random()
    if style < 0.2:
        return draw.rng.sample(words.ALPHABET, draw.whole(2, 6))
    if style < 0.35:
        return [f"{draw.whole(1, 31):02}", f"{draw.whole(1, 12):02}", str(draw.whole(1950, 2030))]
    if style < 0.42:
        return list(words.NUMBERS[(first := draw.whole(0, 8)) : first + draw.whole(2, 6)])
    return any_words(draw, 2, 6) if style < 0.75 else [str(draw.whole(0, draw.any((9, 31, 9999)))) for _ in "abc"]


def words_in_order(draw: Draw, count: int) -> list[str]:
    """Different words, or now and then single letters, to put in order."""
    style = draw.rng.random()
    if style > 0.96:
        return _cased(draw, draw.rng.sample(words.ALPHABET, count))
    if style < 0.82:
        return _cased(draw, _of_a_kind(draw, count, style / 0.82))
    return _cased(draw, _different(lambda: draw.nonsense() if draw.chance(0.6) else draw.any(words.WORDS), count))


def _of_a_kind(draw: Draw, count: int, kind: float) -> list[str]:
    """Plain words, those of all texts, names, or things of one kind, as `kind` rises from 0 to 1."""
    if 0.45 < kind < 0.6:
        return draw.names(count)
    things = draw.any([pool for pool in _THINGS if len(pool) >= count])
    return draw.words(words.WORDS if kind < 0.22 else words.every_word() if kind < 0.45 else things, count)


def _different(make: Callable[[], str], count: int) -> list[str]:
    """So many of what is made, no two alike, whatever the case."""
    found: dict[str, str] = {}
    while len(found) < count:
        made = make()
        found.setdefault(made.lower(), made)
    return list(found.values())


def _cased(draw: Draw, items: list[str]) -> list[str]:
    """Mostly as they are; else all in one case, or each in any."""
    if draw.chance(0.85):
        return items
    case, mixed = draw.any(_CASES), draw.chance(0.25)
    return [(draw.any(_CASES) if mixed else case)(item) for item in items]


def spoken(draw: Draw, number: int) -> str:
    """The number in words, as one or another says it: a hundred and five, one hundred five."""
    said = words.spelled(number)
    return draw.any((said, said, said.replace(" and ", " "), said.replace("one hundred", "a hundred")))


def few(draw: Draw) -> int:
    """Draw the length of a list: short ones are usual, and learnt first."""
    return draw.any((2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6))


def enumerated(items: list[str]) -> str:
    """The items in a sentence: commas between them, "and" before the last."""
    return ", ".join(items[:-1]) + " and " + items[-1] if len(items) > 1 else items[0]


def typed(draw: Draw, items: list[str]) -> str:
    """The items as users type them in one line."""
    style, plain = draw.rng.random(), " " not in "".join(items)
    if style < 0.72:
        if plain and style > 0.69:
            return " and ".join(filter(None, (" ".join(items[:-1]), items[-1])))
        return (" " if plain and style > 0.52 else ", ").join(items)
    if style < 0.82:
        comma = len(items) > 2 and draw.chance(0.3)
        return f"{', '.join(items[:-1])}, and {items[-1]}" if comma else enumerated(items)
    if style < 0.92:
        return draw.any(_BETWEEN).join(items)
    if style < 0.95:
        return quoted(items)
    return draw.any(_AROUND).format((" " if plain and style > 0.985 else ", ").join(items))


def quoted(items: list[str]) -> str:
    """The items in quotes, with commas between them."""
    return ", ".join(f'"{item}"' for item in items)


def marked(items: list[str], mark: str = "- ") -> str:
    """The items on lines of their own, each after the mark; after its number where the mark is `1.`."""
    return "\n".join((f"{at}. " if mark == "1." else mark) + item for at, item in enumerate(items, 1))


def with_another(draw: Draw, items: list[str], again: str) -> list[str]:
    """The items with one of them once more, somewhere after the first."""
    at = draw.whole(items.index(again) + 1, len(items))
    return [*items[:at], again, *items[at:]]


def in_lines(draw: Draw, items: list[str]) -> str:
    """The items on lines of their own, with bullets or without."""
    return marked(items, draw.any(("- ", "- ", "* ", "")))


def numbered(items: list[str], first: int = 1) -> str:
    """The items in one line, each after its number."""
    return ", ".join(f"{at} {item}" for at, item in enumerate(items, first))


def turned(ask: str, items: list[str], follow_up: bool = False) -> Exchange:
    """An exchange that reverses a list: its items are numbered, and the numbers are then counted down."""
    return worked(ask, counted_down(items), ", ".join(items[::-1]), follow_up)


def counted_down(items: list[str]) -> str:
    """The items each after its number, then from the last number down."""
    down = ", ".join(f"{at} {items[at - 1]}" for at in range(len(items), 0, -1))
    return f"{numbered(items)}. Backwards: {down}"


def put_in_order(draw: Draw, ask: str, items: list[str], from_z: bool = False, follow_up: bool = False) -> Exchange:
    """An exchange that sorts words: each behind its first letters; so in order; then alone."""
    working, done = ordering(items, from_z)
    return worked(ask, working, ", ".join(done), follow_up)


def ordering(items: list[str], from_z: bool = False) -> tuple[str, list[str]]:
    """The working that puts words in order, and the words so.

    Each word stands behind three letters, or as many as tell the words apart: looking for the next word turns into
    looking for the next letter. Three even where one would do, since how many are needed is hard to see beforehand.
    """
    done = sorted(items, key=str.lower, reverse=from_z)
    most = max(3, *map(len, items))
    apart = next((n for n in range(3, most) if len({item[:n].lower() for item in items}) == len(items)), most)
    told, ordered = (", ".join(f"{spaced(item[:apart].lower())} {item}" for item in some) for some in (items, done))
    return f"{'From z' if from_z else 'In order'}: {told}. {ordered}", done


def worked(ask: str, before: str, answer: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply leads up to the answer."""
    return Exchange(ask, f"{before}. So {answer}", exactly_in(answer), follow_up)


def calculated(draw: Draw, wording: Wording, way: str, line: str, result: float, /, **said: object) -> list[Exchange]:
    """The question asked in this way, and the working whose last number is the result."""
    return [Exchange(draw.asked(wording, way, **said), line, ends_with_numbers(result))]


def led(ask: str, lead: str, answer: str) -> Exchange:
    """An exchange whose reply says what it gives, and gives it."""
    return Exchange(ask, leading(lead) + answer, exactly_in(answer))


def leading(lead: str) -> str:
    """The words that lead up to an answer: with numbers or colons of their own, a sentence before "So"."""
    return f"{lead}. So " if re.search(r"[:\n\d]", lead) else f"{lead}: "


def kept(
    ask: str, items: list[str], passing: list[str], look: Callable[[str], object], asks: str = "keep", sought: str = ""
) -> list[Exchange]:
    """A filtered list: the thing sought, every item with its part looked at and yes or no, then those with a yes.

    Where others go out, it is "stays" or "out".

    Args:
        ask: the question.
        items: all that the user brings.
        passing: those of them for which it is a yes.
        look: what is shown of an item.
        asks: for the ones to `keep`; to take `out`, which leaves the others; or to `count`.
        sought: what the ones for which it is a yes are, if the reply is to begin with that.
    """
    out = asks == "out"
    left = [item for item in items if (item in passing) != out]
    lead = words.upper_first(f"{'without ' if out else ''}{sought}: ") if sought else "What stays: " if out else ""
    told = lead + marks(items, left, look, *(("stays", "out") if out else ()))
    return [worked(ask, told, str(len(left)) if asks == "count" else ", ".join(left) or "none")]


def marks(
    items: list[str], passing: list[str], look: Callable[[str], object], passes: str = "yes", fails: str = "no"
) -> str:
    """Every item with what is looked at of it and whether it passes."""
    return ", ".join(f"{look(item)} {passes if item in passing else fails}" for item in items)


def seen(items: list[str]) -> str:
    """Of each item in turn, whether it is new or comes again."""
    told = (f"{item} {'again' if item in items[:n] else 'new'}" for n, item in enumerate(items))
    return f"Each once: {', '.join(told)}"


def handed_back(draw: Draw, ask: str, answer: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply is a few polite words and the answer."""
    return Exchange(ask, draw.any(HANDED) + answer, exactly_in(answer), follow_up)


def as_one(ask: str, name: str) -> Exchange:
    """An exchange whose reply is several words as one, with a sign between them or nothing: letter by letter."""
    return Exchange(ask, NAMED + name, exactly_in(name))
