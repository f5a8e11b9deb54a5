"""Naming so many of a kind: always on from the last in one round, so that none comes twice."""

from __future__ import annotations

from assets.recipe import words
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("formats")

_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES), ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS))  # fmt: skip
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 8)


def _names_of(pool: tuple[str, ...], count: int, unwanted: tuple[str, ...] = ()) -> Check:
    """The reply lists this many of the pool, none of them twice and none that is unwanted."""

    def check(reply: str) -> bool:
        found = [item.strip(" -.1234567890") for item in reply.replace("\n", ",").split(",")]
        return len(found) == len(set(found)) == count and set(found) <= set(pool) - set(unwanted)

    return check


def _listed(style: str, items: list[str]) -> str:
    if style == "numbers":
        return "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1))
    return "\n".join(f"- {item}" for item in items) if style == "bullets" else ", ".join(items)


def compose(draw: Draw) -> list[Exchange]:
    """A few of a kind, perhaps without some, and perhaps some more."""
    kind, pool = draw.any(_KINDS)
    round_ = pool[:20]
    count = draw.whole(2, 8)
    begin = draw.any(_BEGINNINGS)
    named = [round_[(begin + at) % len(round_)] for at in range(len(round_))]
    asks, unwanted = "examples", named[-1]
    if draw.chance(0.2):
        asks, unwanted = "without", draw.any(named[:count] if draw.chance(0.7) else named)
        named.remove(unwanted)
    style = draw.any(("numbers", "numbers", "bullets", "commas"))
    ask = draw.ask(_WORDING[asks], k=draw.any((words.spelled(count), str(count))), kind=kind, y=unwanted)
    # Without an exception the check allows all the pool.
    gone = (unwanted,) if asks == "without" else ()
    exchanges = [Exchange(ask, _listed(style, named[:count]), _names_of(pool, count, gone))]
    said = count
    while draw.chance(0.4) and len(exchanges) < 3 and said + 4 < len(named):
        more = draw.whole(2, 4)
        check = _names_of(pool, more, (*named[:said], *gone))
        ask = draw.ask(_WORDING["more"], k=draw.any((words.spelled(more), str(more))))
        exchanges.append(Exchange(ask, _listed(style, named[said : said + more]), check, True))
        said += more
    return exchanges
