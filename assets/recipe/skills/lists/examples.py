"""Examples: a few of a kind, named by the model; a pattern shown on a few; rows that go on.

What is named of a kind goes on from the last in one round, so that none comes twice.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.patterns import pattern
from assets.recipe.user_words import any_words, marked, some_word, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("lists/examples")
_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES), ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS), ("colors", words.COLOURS), ("musical instruments", words.KINDS["instruments"]),
          ("kinds of fruit", words.KINDS["fruits"]), ("days of the week", words.KINDS["days"]),
          ("pieces of furniture", words.KINDS["furniture"]), *list(words.KINDS.items()) * 2)  # fmt: skip
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 8)


def _named(draw: Draw, ask: str, items: list[str], pool: set[str], style: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply lists just so many of the pool, none of them twice."""

    def check(reply: str) -> bool:
        found = [item.strip(" -.1234567890") for item in reply.replace("\n", ",").split(",")]
        return len(found) == len(set(found)) == len(items) and set(found) <= pool

    return Exchange(ask, marked(items, style) if style else ", ".join(items), check, follow_up)


def _of_a_kind(draw: Draw) -> list[Exchange]:
    """A few of a kind, perhaps without some, and perhaps some more."""
    kind, pool = draw.any(_KINDS)
    round_, begin = pool[:20], draw.any(_BEGINNINGS)
    count = draw.whole(2, min(8, len(round_) - 1))
    named = [round_[(begin + at) % len(round_)] for at in range(len(round_))]
    if len(pool) < 13 and draw.chance(0.5):
        return [_named(draw, draw.ask(_WORDING["all"], kind=kind), list(pool), set(pool), draw.any(("1.", "- ", "")))]
    asks, unwanted = "examples", named[-1]
    allowed = set(pool)
    if draw.chance(0.2):
        asks, unwanted = "without", draw.any(named[:count] if draw.chance(0.7) else named)
        named.remove(unwanted)
        allowed -= {unwanted}
    style = draw.any(("1.", "1.", "- ", ""))
    ask = draw.ask(_WORDING[asks], k=draw.any((words.spelled(count), str(count))), kind=kind, y=unwanted)
    exchanges = [_named(draw, ask, named[:count], allowed, style)]
    said = count
    while draw.chance(0.4) and len(exchanges) < 3 and said + 4 < len(named):
        more = draw.whole(2, 4)
        ask = draw.ask(_WORDING["more"], k=draw.any((words.spelled(more), str(more))))
        exchanges.append(_named(draw, ask, named[said : said + more], allowed - set(named[:said]), style, True))
        said += more
    return exchanges


def _counted(draw: Draw) -> list[Exchange]:
    """A row in which letters or numbers go on, to be gone on with."""
    more, shown, style = draw.any((1, 1, 1, 2, 3)), draw.whole(3, 4), draw.rng.random()
    letters = words.ALPHABET.upper() if draw.chance(0.5) else words.ALPHABET
    at, step, base, n = draw.whole(0, 8), draw.any((1, 1, 2)), some_word(draw), draw.any((1, 1, draw.whole(2, 30)))
    make: Callable[[int], str]
    if style < 0.3:
        make = lambda i: f"{letters[at + i]}{n + i}"  # noqa: E731
    elif style < 0.5:
        make = lambda i: f"{n + i}{letters[at + i]}"  # noqa: E731
    elif style < 0.75:
        make = lambda i: letters[at + step * i]  # noqa: E731
    else:
        joint = draw.any(("", "", " ", "-", "_"))
        make = lambda i: f"{base}{joint}{n + i}"  # noqa: E731
    row = [make(i) for i in range(shown + more)]
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
    """A few of a kind, a pattern, or what goes on in turn."""
    return draw.any((*[pattern] * 14, *[_of_a_kind] * 4, _series, _counted))(draw)
