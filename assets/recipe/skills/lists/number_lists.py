"""The user's own numbers: put in order, picked from, filtered; each beside what it is compared with."""

from __future__ import annotations

import operator
from collections.abc import Callable

from assets.recipe import user_words as given
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.filters import by_condition
from assets.recipe.words import ORDINALS, read_wording, weighted

_WORDING = read_wording("lists/word_lists")
_BETWEEN = (*[", "] * 7, *[" "] * 6, ",", "; ", " / ", "\n", " and ", " | ", " or ")
_TESTS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "below": ("<", operator.lt), "above": (">", operator.gt),
    "at_most": ("<=", operator.le), "at_least": (">=", operator.ge),
}  # fmt: skip
_WAYS = weighted(_WORDING, "ways of numbers")


def typed_numbers(draw: Draw, values: list[str]) -> str:
    """The numbers in one line as users type them, or below one another."""
    return given.enumerated(values) if draw.chance(0.12) else draw.any(_BETWEEN).join(values)


def _values(draw: Draw) -> list[int]:
    tops = [draw.any((20, 99, 99, 300, 9999))] if draw.chance(0.7) else [9, 99, 99, 999]
    values = draw.numbers(*((1, draw.any(tops)) for _ in range(draw.any((2, 3, 3, 4, 4, 5, 5, 6, 7)))))
    return list(dict.fromkeys(values))


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to numbers."""
    values, way = _values(draw), draw.any(_WAYS)
    if way == "parity" or way in _TESTS:
        return _filtered(draw, way, values)
    if way in ("largest", "smallest"):
        return _extreme(draw, way)
    return _sorted(draw, way, values, typed_numbers(draw, [*map(str, values)]))


def _filtered(draw: Draw, way: str, values: list[int]) -> list[Exchange]:
    """The even or odd numbers, or those beyond a bound: kept, taken out or counted; compared when equally wide."""
    told, odd = [*map(str, values)], draw.whole(0, 1)
    x, bound = typed_numbers(draw, told), draw.whole(2, max(values) + 1)
    k = draw.any((draw.any(values), bound, round(bound, -1) or 5))
    p, q = ("even", "odd")[:: 1 - 2 * odd]
    if way == "parity":
        passing = [one for one in told if int(one) % 2 == odd]
        look: Callable[[str], str] = lambda one: f"{one} {('even', 'odd')[int(one) % 2]}"  # noqa: E731
    else:
        sign, passes = _TESTS[way]
        wide = max(map(len, [*told, str(k)]))
        passing = [one for one in told if passes(int(one), k)]
        look = lambda one: f"{one:0>{wide}} {sign} {k:0{wide}}"  # noqa: E731
    asks = draw.any(("keep", "keep", "keep", "keep", "out", "count"))
    if way == "parity" and asks == "out" and draw.chance(0.5):
        ask = draw.ask(_WORDING["parity out"], x=x, p=p)
    elif asks != "keep" or draw.chance(0.35):
        ask = by_condition(draw, "numbers", asks, way, x=x, k=k, p=p)
    else:
        ask = draw.asked(_WORDING, way, x=x, k=k, p=p, q=q)
    return given.kept(ask, told, passing, look, asks)


def _extreme(draw: Draw, way: str) -> list[Exchange]:
    """The largest or smallest number: behind each the best one so far, both equally wide."""
    places = 2 if draw.chance(0.1) else 0
    values = [value / 100 if places else value for value in _values(draw)]
    wide, best, passed = max(len(f"{value:.{places}f}") for value in values), values[0], []
    for value in values:
        best = max(best, value) if way == "largest" else min(best, value)
        passed.append(f"{value:0{wide}.{places}f} {best:0{wide}.{places}f}")
    ask = draw.asked(_WORDING, way, x=typed_numbers(draw, [f"{value:g}" for value in values]))
    return [given.worked(ask, f"{way.capitalize()} so far: {', '.join(passed)}", f"{best:g}")]


def _sorted(draw: Draw, way: str, values: list[int], x: str) -> list[Exchange]:
    """The numbers with zeros in front, so that they are put in order digit by digit; or one of them by its place."""
    before, done = ordering(values, way in ("falling", "nth_largest"))
    if way.startswith("nth"):
        at = draw.any([at for at in (2, 2, 3) if at <= len(done)] or [1])
        ask = draw.ask(_WORDING[way], x=x, p=ORDINALS[at])
        return [given.worked(ask, before, done[at - 1])]
    exchanges = [given.worked(draw.asked(_WORDING, way, x=x), before, ", ".join(done))]
    if draw.chance(0.3):
        exchanges.append(given.handed_back(draw, draw.ask(_WORDING["back"]), ", ".join(done[::-1]), True))
    return exchanges


def ordering(values: list[int], falling: bool) -> tuple[str, list[str]]:
    """The working that puts numbers in order, and the numbers so."""
    order, wide = sorted(values, reverse=falling), len(str(max(values)))
    told, ordered = (", ".join(f"{value:0{wide}}" for value in some) for some in (values, order))
    return f"{'From the largest' if falling else 'In order'}: {told}. {ordered}", [str(value) for value in order]
