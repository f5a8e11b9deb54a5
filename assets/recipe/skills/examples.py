"""Examples: a few of a kind, named by the model; and a pattern shown on two or three, to be gone on with.

What is named of a kind goes on from the last in one round, so that none comes twice.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers, exact
from assets.recipe.draw import Draw
from assets.recipe.user_words import handed_back, marked, some_word, spaced
from assets.recipe.words import read_wording

_WORDING = read_wording("examples")
_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES), ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS), ("colors", words.COLOURS), ("musical instruments", words.KINDS["instruments"]),
          ("kinds of fruit", words.KINDS["fruits"]), ("days of the week", words.KINDS["days"]),
          ("pieces of furniture", words.KINDS["furniture"]), *list(words.KINDS.items()) * 2)  # fmt: skip
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 8)
_OPPOSITES = tuple(pair.split("/") for pair in _WORDING["opposites"][0].split())
_PATTERNS: dict[str, Callable[[str], str]] = {
    "plural": lambda one: one + "s", "upper": str.upper, "title": str.title, "reverse": lambda one: one[::-1],
    "initial": lambda one: one[0], "last": lambda one: one[-1], "next": lambda one: str(int(one) + 1),
    "double": lambda one: str(2 * int(one)), "length": lambda one: str(len(one)), "opposite": str,
}  # fmt: skip
_SHAPES = (("{a} -> {b}", ", "), ("{a} => {b}", ", "), ("{a}: {b}", ", "), ("{a} -> {b}", "; "), ("{a}/{b}", ", "),
           ("{a} becomes {b}", ". "), ("Input: {a} Output: {b}", ". "), ("in: {a} out: {b}", "; "), ("{a}:{b}", " "),
           ("{a} = {b}", "\n"))  # fmt: skip


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


def _pattern(draw: Draw) -> list[Exchange]:
    """A pattern shown on two or three, and one to do."""
    way, count = draw.any(tuple(_PATTERNS)), draw.any((2, 2, 3))
    sources: list[str] = []
    while len(sources) <= count:
        one = str(draw.whole(1, 20)) if way in ("next", "double") else some_word(draw)
        sources += [one] if one not in sources else []
    pairs = [(one, _PATTERNS[way](one)) for one in sources]
    if way == "opposite":
        pairs = [(one, other) for one, other in draw.rng.sample(_OPPOSITES, count + 1)]
    shape, join = draw.any(_SHAPES)
    told = "".join(shape.format(a=a, b=b) + join for a, b in pairs[:-1])
    source, answer = pairs[-1]
    end = draw.any((shape.format(a=source, b="").rstrip(), shape.format(a=source, b="?")))
    if "becomes" in shape:
        end = draw.any((f"What does {source} become?", f"{source} becomes", f"And {source} becomes?"))
    ask = draw.any(_WORDING["go on"]) + told + end
    if way == "reverse":
        return [exact(ask, f"{spaced(source)}, {spaced(answer)}: {answer}")]
    if answer.isdigit():
        return [Exchange(ask, f"Here it is: {answer}", ends_with_numbers(int(answer)))]
    return [handed_back(draw, ask, answer)]


def compose(draw: Draw) -> list[Exchange]:
    """A few of a kind, or a pattern."""
    return (_pattern if draw.chance(0.5) else _of_a_kind)(draw)
