"""Examples: a few of a kind, named by the model; a pattern shown on a few; partners of words; rows that go on.

What is named of a kind goes on from the last in one round, so that none comes twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists import word_pairs
from assets.recipe.skills.lists.patterns import pattern
from assets.recipe.user_words import any_words, handed_back, marked, some_word, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("lists/examples")
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 0, 0, 0, 4)
# Numbers that are told by a word of another kind.
_VAGUE = {told: int(count) for told, count in words.pairs(_WORDING, "vague")}


@dataclass(frozen=True)
class _Kind:
    """A kind: what many and one of its things are called, questions for it, and its things, the usual first."""

    many: list[str]
    one: list[str]
    questions: list[str]
    things: list[str]


def _kind(line: str) -> _Kind:
    many, one, questions, told = (part.strip().split(" / ") for part in line.split(" | "))
    return _Kind(many, one, questions, list(words.KINDS[told[0][1:]]) if told[0][0] == "@" else told)


_TOLD = read_wording("lists/everyday_kinds")
_KINDS = [_kind(line) for line in (*_TOLD["usual"] * 3, *_TOLD["kind"])]
# Words that follow one another.
_ROWS = ("days", "days", "months", "months", "numbers", "ordinals")
_WHOLE = ("months", "days", "seasons", "planets", "vowels")


def _named(ask: str, items: list[str], pool: list[str], follow_up: bool = False) -> Exchange:
    """An exchange whose reply lists just so many of the pool, none of them twice."""

    def check(reply: str) -> bool:
        found = [item.split(". ")[-1] for item in reply.split("\n")]
        return len(found) == len(set(found)) == len(items) and set(found) <= set(pool)

    return Exchange(ask, marked(items, "1."), check, follow_up)


def _of_a_kind(draw: Draw) -> list[Exchange]:
    """A few of a kind, perhaps without some, and perhaps some more; or one; or all."""
    kind = draw.any(_KINDS)
    many, things = kind.many[0] if draw.chance(0.25) else draw.any(kind.many), kind.things
    if kind.many[0] in _WHOLE and draw.chance(0.5):
        return [_named(draw.ask(_WORDING["all"], kind=many), things, things)]
    begin = draw.any(_BEGINNINGS) if len(things) > 9 else 0
    named = [things[(begin + at) % len(things)] for at in range(len(things))]
    one = draw.any(kind.one)
    if draw.chance(0.16):
        asks, first = draw.any(("one", "one", "examples", "lettered")), named[0]
        if asks == "lettered":
            letter = draw.any(things)[0]
            first = next(thing for thing in things if thing[0] == letter)
        k, a = draw.any(("one", "1")), words.article(one)
        return [handed_back(draw, draw.ask(_WORDING[asks], one=one, a=a, k=k, kind=one, l=first[0]), first)]
    count = draw.whole(2, min(draw.any((4, 4, 4, 6, 8)), len(things) - 1))
    k, asks = draw.any((words.spelled(count), words.spelled(count), str(count))), "examples"
    if draw.chance(0.08):
        k, count = draw.any(list(_VAGUE.items()))
    unwanted = draw.any(named[: count + 1])
    if draw.chance(0.15):
        asks, things = "without", [one for one in things if one != unwanted]
        named.remove(unwanted)
    elif draw.chance(0.2) and k not in _VAGUE:
        asks = "asked"
    fields = {"k": k, "kind": many, "y": unwanted, "q": draw.any(kind.questions)}
    exchanges = [_named(draw.ask(_WORDING[asks], **fields), named[:count], things)]
    said = count
    while draw.chance(0.25) and len(exchanges) < 3 and said + 4 < len(named):
        more = draw.whole(2, 4)
        ask = draw.ask(_WORDING["more"], k=draw.any((words.spelled(more), str(more))))
        exchanges.append(_named(ask, named[said : said + more], things, True))
        said += more
    return exchanges


def _counted(draw: Draw) -> list[Exchange]:
    """A row in which letters or numbers go on, to be gone on with."""
    more, shown, joint = draw.any((1, 1, 1, 2, 3)), draw.whole(3, 4), draw.any(("", "", " ", "-", "_"))
    letters = words.ALPHABET.upper() if draw.chance(0.5) else words.ALPHABET
    at, step, base, n = draw.whole(0, 8), draw.any((1, 1, 2)), some_word(draw), draw.any((1, 1, draw.whole(2, 30)))
    letters, wide, known = letters[:: draw.any((1, 1, 1, 1, -1))], draw.any((1, 1, 1, 2)), words.POOLS[draw.any(_ROWS)]
    way = draw.any(words.weighted(_WORDING, "ways of rows"))
    row = [
        {
            "letter_number": f"{letters[at + i]}{n + i}", "number_letter": f"{n + i}{letters[at + i]}",
            "letters": letters[at + step * i :][:wide], "known": known[(at + step * i) % len(known)],
            "longer": letters[at] * (i + 1), "numbered": f"{base}{joint}{n + i}",
        }[way]
        for i in range(shown + more)
    ]  # fmt: skip
    return _row(draw, row, shown, f"One by one: {', '.join(row)}")


def _series(draw: Draw) -> list[Exchange]:
    """Things that come again and again in turn, to be gone on with."""
    some = any_words(draw, 2, 3)
    shown, more = draw.whole(len(some) + 1, 3 * len(some)), draw.any((1, 1, 1, 2, 3))
    row = [some[at % len(some)] for at in range(shown + more)]
    return _row(draw, row, shown, f"In turn: {', '.join(some)}. After {row[shown - 1]}")


def _row(draw: Draw, row: list[str], shown: int, told: str) -> list[Exchange]:
    """A row of which so many are shown."""
    more, x = len(row) - shown, draw.any((", ", ", ", " ")).join(row[:shown])
    ask = draw.ask(_WORDING["series" if more == 1 else "series more"], x=x, k=spelled(more))
    return [worked(ask, told, ", ".join(row[shown:]))]


def compose(draw: Draw) -> list[Exchange]:
    """A few of a kind, a word's partner, a pattern, or what goes on in turn."""
    return draw.any((*[pattern] * 12, *[_of_a_kind] * 7, *[word_pairs.questions] * 8, *[_counted] * 4, _series))(draw)
