"""The user's own numbers: put in order, picked from, filtered; each beside what it is compared with; or with names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.lists.filters import by_condition
from assets.recipe.words import ORDINALS, read_wording, spelled, weighted

_WORDING = read_wording("lists/word_lists")
_BETWEEN = (*[", "] * 7, *[" "] * 6, ",", "; ", " / ", "\n", " and ", " | ", " or ")
_TESTS: dict[str, tuple[str, Callable[[int, int], bool]]] = {
    "below": ("<", operator.lt), "above": (">", operator.gt),
    "at_most": ("<=", operator.le), "at_least": (">=", operator.ge),
}  # fmt: skip
_WAYS = weighted(_WORDING, "ways of numbers")
_NAMED = read_wording("lists/number_lists")
_MEASURES = tuple(name.removesuffix(" most") for name in _NAMED if name.endswith(" most"))
_TYPED = words.entries(_NAMED, "named typed")


def typed_numbers(draw: Draw, values: list[str]) -> str:
    """The numbers in one line as users type them, or below one another."""
    return given.enumerated(values) if draw.chance(0.12) else draw.any(_BETWEEN).join(values)


def _values(draw: Draw) -> list[int]:
    """Different numbers, now and then of the same few digits."""
    if draw.chance(0.2):
        digits, wide = draw.rng.sample("0123456789", draw.whole(2, 3)), draw.whole(2, 4)
        alike = lambda: " ".join("".join(draw.rng.choices(digits, k=wide)) for _ in range(draw.whole(3, 5)))  # noqa: E731
        return list(dict.fromkeys(max(1, int(one)) for one in draw.own(alike, 8).split()))
    tops = [draw.any((20, 99, 99, 300, 9999))] if draw.chance(0.7) else [9, 99, 99, 999]
    values = draw.numbers(*((1, draw.any(tops)) for _ in range(draw.any((2, 3, 3, 4, 4, 5, 5, 6, 7)))))
    return list(dict.fromkeys(values))


def compose(draw: Draw) -> list[Exchange]:
    """One thing done to numbers."""
    values, way = _values(draw), draw.any(_WAYS)
    if way == "named":
        return _named(draw)
    if way in ("parity", "multiple", "within", *_TESTS):
        return _filtered(draw, way, values)
    return _extreme(draw, way, values) if way in ("largest", "smallest") else _sorted(draw, way, values)


def _filtered(draw: Draw, way: str, values: list[int]) -> list[Exchange]:
    """The even or odd numbers, or those beyond a bound: kept, taken out or counted; compared when equally wide."""
    told, odd = [*map(str, values)], draw.whole(0, 1)
    x, bound = typed_numbers(draw, told), draw.whole(2, max(values) + 1)
    k = draw.any((draw.any(values), bound, round(bound, -1) or 5))
    p, q = ("even", "odd")[:: 1 - 2 * odd]
    if way == "parity":
        passing = [one for one in told if int(one) % 2 == odd]
        look: Callable[[str], str] = lambda one: f"{one} {('even', 'odd')[int(one) % 2]}"  # noqa: E731
    elif way == "multiple":
        k = draw.any((3, 4, 5, 5, 10, 10, 6))
        told = [str(int(one) // k * k or k) if draw.chance(0.3) else one for one in told]
        told = list(dict.fromkeys(told))
        x = typed_numbers(draw, told)
        passing = [one for one in told if int(one) % k == 0]
        look = lambda one: f"{one} / {k} remainder {int(one) % k}"  # noqa: E731
    elif way == "within":
        step = 5 if max(values) < 60 else 10 if max(values) < 200 else 100
        low, high = sorted(
            draw.rng.sample([at for at in range(0, max(values) + 3 * step, step) if at not in values], 2)
        )
        wide, passing = len(str(max(*values, high))), [one for one in told if low < int(one) < high]
        look = lambda one: f"{one:0>{wide}} in {low:0{wide}} to {high:0{wide}}"  # noqa: E731
        return given.kept(draw.ask(_WORDING["within"], x=x, k=low, m=high), told, passing, look)
    else:
        sign, passes = _TESTS[way]
        wide = max(map(len, [*told, str(k)]))
        passing = [one for one in told if passes(int(one), k)]
        look = lambda one: f"{one:0>{wide}} {sign} {k:0{wide}}"  # noqa: E731
    asks = draw.any(("keep", "keep", "keep", "keep", "out", "out", "count"))
    if way == "parity" and asks == "out" and draw.chance(0.5):
        ask = draw.ask(_WORDING["parity out"], x=x, p=p)
    elif asks != "keep" or draw.chance(0.35):
        ask = by_condition(draw, "numbers", asks, way, x=x, k=k, p=p)
    else:
        ask = draw.asked(_WORDING, way, x=x, k=k, p=p, q=q)
    if asks == "out" and way != "parity":
        return given.kept(ask, told, passing, lambda one: f"{look(one)} {'yes' if one in passing else 'no'}", asks)
    return given.kept(ask, told, passing, look, asks, f"the {p} ones" if way == "parity" else "")


def _extreme(draw: Draw, way: str, whole: list[int]) -> list[Exchange]:
    """The largest or smallest number: behind each the best one so far, both equally wide."""
    places, values = _pointed(draw, whole)
    wide, best, passed = max(len(f"{value:.{places}f}") for value in values), values[0], []
    for value in values:
        best = max(best, value) if way == "largest" else min(best, value)
        passed.append(f"{value:0{wide}.{places}f} {best:0{wide}.{places}f}")
    told, shown = [f"{value:g}" for value in values], f"{way.capitalize()} so far: {', '.join(passed)}"
    return [given.worked(draw.asked(_WORDING, way, x=typed_numbers(draw, told)), shown, f"{best:g}")]


def _pointed(draw: Draw, whole: list[int]) -> tuple[int, list[float]]:
    """The number of places behind the point, mostly none, and the numbers so; or some of them below zero."""
    places = draw.any((1, 2)) if draw.chance(0.12) else 0
    if places == 0 and draw.chance(0.07):
        return 0, [value * draw.any((1, -1)) for value in whole]
    return places, [value / 10**places for value in whole] if places else [*whole]


def _sorted(draw: Draw, way: str, whole: list[int]) -> list[Exchange]:
    """The numbers with zeros in front, so that they are put in order digit by digit; or one of them by its place."""
    picks = way not in ("numbers", "falling")
    again = draw.rng.choices(whole, k=draw.whole(1, 2)) if not picks and draw.chance(0.1) else []
    places, values = _pointed(draw, draw.rng.sample([*whole, *again], len(whole) + len(again)))
    before, done = ordering(values, way in ("falling", "nth_largest", "k_largest"), places)
    x = typed_numbers(draw, [f"{value:g}" for value in values])
    if picks:
        at = draw.any([at for at in (2, 2, 3) if at < len(done)] or [len(done)])
        ask = draw.ask(_WORDING[way], x=x, p=ORDINALS[at], k=draw.any((at, spelled(at))))
        some = [done[0], done[-1]] if way == "extremes" else done[:at] if way[0] == "k" else [done[at - 1]]
        return [given.worked(ask, before, ", ".join(some))]
    exchanges = [given.worked(draw.asked(_WORDING, way, x=x), before, ", ".join(done))]
    if draw.chance(0.3):
        exchanges.append(given.turned(draw.ask(_WORDING["back"]), done, True))
    return exchanges


def ordering(
    values: Sequence[float], falling: bool, places: int = 0, whose: Mapping[float, str] | None = None
) -> tuple[str, list[str]]:
    """The working that puts numbers in order, and the numbers so; or what they are of, where that is given."""
    order, wide = sorted(values, reverse=falling), max(len(f"{value:.{places}f}") for value in values)
    cell = lambda value: f"{value:0{wide}.{places}f}{f' {whose[value]}' if whose else ''}"  # noqa: E731
    told, ordered = (", ".join(map(cell, some)) for some in (values, order))
    done = [whose[value] if whose else f"{value:g}" for value in order]
    return f"{'From the largest' if falling else 'In order'}: {told}. {ordered}", done


def _named(draw: Draw) -> list[Exchange]:
    """A question about numbers with names."""
    measure, pool = draw.any(_MEASURES).split()
    count, top = draw.any((2, 3, 3, 3, 4, 4, 5)), draw.any((20, 60, 99, 99, 500))
    names = draw.names(count) if pool == "names" else draw.rng.sample(words.POOLS[pool], count)
    values = draw.rng.sample(range(1, top), count)
    form, between = draw.any(_TYPED), draw.any((", ", ", ", ", ", "; ", "\n"))
    x = between.join(form.format(n=name, k=value) for name, value in zip(names, values, strict=True))
    way = draw.any(("most", "most", "least", "least", "order"))
    one, other = (draw.say(_NAMED[f"{measure} {pool} {end}"]) for end in ("most", "least"))
    falling = way == "most" or (way == "order" and draw.chance(0.3))
    first = one if falling else other
    whose: dict[float, str] = dict(zip(values, names, strict=True))
    if way == "order":
        ask = draw.asked(_NAMED, "named order", x=x, m=measure, s=first, t=other if falling else one)
        before, done = ordering(values, falling, whose=whose)
        return [given.worked(ask, before, ", ".join(done))]
    wide, best, passed = len(str(max(values))), values[0], []
    for value in values:
        best = (max if falling else min)(best, value)
        passed.append(f"{value:0{wide}} {best:0{wide}} {whose[best]}")
    ask = draw.asked(_NAMED, "named first", x=x, s=first)
    return [given.worked(ask, f"{'Largest' if falling else 'Smallest'} so far: {', '.join(passed)}", whose[best])]
