"""Amounts in different units added, taken away, compared, repeated, cut up: each in the smaller unit first."""

from __future__ import annotations

import re
from dataclasses import dataclass

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import plain, work, worked_product, worked_sum
from assets.recipe.user_words import calculated, worked
from assets.recipe.words import pairs, read_wording, spelled

_WORDING = read_wording("measures/units")
TENS = (10, 100, 1000)
_STUFF, _PIECES = (
    {unit: tuple(things.split()) for unit, things in (line.split("=") for line in _WORDING[name])}
    for name in ("stuff", "pieces")
)


@dataclass(frozen=True)
class Pair:
    """Two units: the names of the bigger (one, many, short) and the smaller, and how many smaller ones it holds."""

    big: tuple[str, str, str]
    small: tuple[str, str, str]
    factor: int

    @property
    def step(self) -> int:
        """The number that amounts of the smaller unit are multiples of."""
        return 5 if self.factor == 60 else self.factor // 20 or 1


def _unit(text: str) -> tuple[str, str, str]:
    one, many, short = text.replace("_", " ").split("/")
    return one, many, short or many


_LINES = (line.split() for line in _WORDING["pair"])
PAIRS = tuple(Pair(_unit(big), _unit(small), int(factor)) for big, small, factor in _LINES)
METRIC = tuple(pair for pair in PAIRS if pair.factor in TENS)
SPOKEN = tuple(pair for pair in PAIRS if 4 < pair.factor <= 1000 and pair.big[1] not in ("tonnes", "dozens", "yards"))
_PARTED = tuple(pair for pair in SPOKEN if pair.big[1] in ("hours", "minutes", "feet", "days", "weeks", "years"))
_EVERYDAY = tuple(pair for pair in SPOKEN if pair.big[2] in ("kg", "m", "l", "km", "h", "cm", "euros"))


@dataclass(frozen=True)
class Amount:
    """An amount as it is told, brought to the smaller unit in steps, and how many of those it is."""

    told: str
    line: str
    value: int


def _amount(draw: Draw, pair: Pair, form: int, style: str = "") -> Amount:
    """An amount in the smaller unit, the bigger, both, with a point, or half of one."""
    style = style or draw.any(("small", "small", "big", "both", "point", "half"))
    factor, big, small, n = pair.factor, pair.big, pair.small[form], draw.whole(1, 5)
    part = pair.step * draw.whole(1, factor // pair.step - 1)
    close = "" if form == 2 and len(small) < 3 and draw.chance(0.4) else " "
    if style == "small":
        value = part if draw.chance(0.7) else part + factor
        return Amount(f"{value}{close}{small}", f"{value} {small}", value)
    unit = _named(n, big, form)
    told = f"{n}{close if len(unit) < 3 else ' '}{unit}"
    if style == "both":
        told += draw.any((" ", " ", " and ")) + f"{part}{close}{small}"
        return Amount(told, f"{told} = {n * factor} + {part} = {n * factor + part} {small}", n * factor + part)
    if style == "point" and factor in TENS:
        value = draw.any((factor // 10, factor // 10, factor // 100 or 1)) * draw.whole(1, 60)
        told = f"{plain(value / factor)}{close if len(unit) < 3 else ' '}{big[form] if form == 2 else big[1]}"
        return Amount(told, f"{told} = {value} {small}", value)
    if style == "half" and factor % 2 == 0:
        told = f"half {'an' if big[0] == 'hour' else 'a'} {big[0]}"
        return Amount(told, f"{told} = {factor // 2} {small}", factor // 2)
    line = worked_product(n, factor) if n > 1 else factor
    return Amount(told, f"{told} = {line} {small}", n * factor)


def _two(draw: Draw) -> tuple[Pair, int, Amount, Amount]:
    """Two amounts of one pair of units, seldom both in the smaller one."""
    pair, form = draw.any((draw.any(SPOKEN), draw.any(_EVERYDAY))), draw.any((1, 1, 2))
    first, second = _amount(draw, pair, form), _amount(draw, pair, form)
    if first.value == second.value or ("=" not in first.line + second.line and draw.chance(0.7)):
        return _two(draw)
    return pair, form, first, second


def _asked_in(draw: Draw, pair: Pair, form: int, value: int) -> tuple[str, str, float]:
    """The unit that a result is wanted in, the steps to it, and the result in it."""
    if pair.factor in TENS and draw.chance(0.25):
        unit, result = pair.big[2 if form == 2 else 1], plain(value / pair.factor)
        return unit, f" {value} / {pair.factor} = {result} {unit}.", float(result)
    return pair.small[form], "", value


def joined(draw: Draw) -> list[Exchange]:
    """Two amounts added, or the smaller one taken from the bigger."""
    pair, form, first, second = _two(draw)
    way, sign = draw.any((("added", "+"), ("added", "+"), ("taken", "-")))
    if sign == "-" and first.value < second.value:
        first, second = second, first
    value = first.value + second.value if sign == "+" else first.value - second.value
    unit, more, result = _asked_in(draw, pair, form, value)
    sum_ = worked_sum(first.value, second.value, sign)
    line = f"{first.line}. {second.line}. {sum_} {pair.small[form]}.{more}"
    x, z, y = (casual(draw, told) for told in (first.told, second.told, unit))
    ask = draw.asked(_WORDING, way, x=x, z=z, y=y)
    if y not in ask and more:
        return joined(draw)
    return [Exchange(ask, line, ends_with_numbers(result))]


def in_both(draw: Draw) -> list[Exchange]:
    """Hours and minutes, say, added so that the result is in hours and minutes again."""
    pair, form = draw.any(_PARTED), draw.any((1, 1, 2))
    factor, big, small = pair.factor, pair.big, pair.small
    n, m = draw.whole(1, 6), draw.any((0, 0, draw.whole(1, 4)))
    a, b = draw.whole(1, factor - 1), draw.whole(1, factor - 1)
    if factor == 60 and draw.chance(0.8):
        a, b = (5 * max(1, some // 5) for some in (a, b))
    first, second = (f"{_some(n, big, form)} {_some(a, small, form)}",
                     f"{_some(m, big, form)} {_some(b, small, form)}" if m else _some(b, small, form))  # fmt: skip
    total, bigs, lines = a + b, n + m, [worked_sum(a, b, "+")]
    if total >= factor:
        lines.append(worked_sum(total, factor, "-"))
    lines += [f"{n} + {m} = {bigs}"] if m else []
    if total >= factor:
        lines.append(f"{bigs} + 1 = {bigs + 1}")
        total, bigs = total - factor, bigs + 1
    answer = _some(bigs, big, form) + (f" {_some(total, small, form)}" if total else "")
    ask = draw.asked(_WORDING, "in both", x=first, z=second, big=big[form], small=small[form])
    return [worked(ask, ". ".join(lines), f"{answer}.")]


def _some(number: int, unit: tuple[str, str, str], form: int) -> str:
    return f"{number} {_named(number, unit, form)}"


def _named(number: int, unit: tuple[str, str, str], form: int) -> str:
    """The unit for so many: short where it has a short form."""
    return unit[0] if number == 1 and (form == 1 or unit[2] == unit[1]) else unit[form]


def compared(draw: Draw) -> list[Exchange]:
    """Which of two amounts is more, or less; or whether the first is more than the second."""
    pair, _, first, second = _two(draw)
    if draw.chance(0.3):
        first, second = (Amount(of_stuff(draw, pair, one.told), one.line, one.value) for one in (first, second))
    way = draw.any(("longer", "longer", "shorter", "is_more"))
    ask = draw.asked(_WORDING, way, x=first.told, y=second.told)
    more = first if first.value > second.value else second
    answer = more if way == "longer" else first if more is second else second
    line, told = f"{first.line}. {second.line}", answer.told
    if way == "is_more":
        ask, told = ask + draw.say(_WORDING["yes or no"]), "yes." if more is first else "no."
    return [worked(ask, line, told)]


def _pieces(draw: Draw, most: int) -> tuple[Pair, int, int, str, str]:
    """A pair of units and its form, so many things that have such an amount, and what one and many are called."""
    pair = draw.any([pair for pair in _EVERYDAY if pair.big[2] in _PIECES])
    form, count = draw.any((1, 2, 2)), draw.whole(2, most)
    one, _, many = draw.any(_PIECES[pair.big[2]]).partition("/")
    return pair, form, count, one, many


def repeated(draw: Draw) -> list[Exchange]:
    """So many times an amount, or how many pieces an amount makes."""
    pair, form, count, one, many = _pieces(draw, 12)
    small = pair.small[form]
    if draw.chance(0.5):
        one_of_them = _amount(draw, pair, form, draw.any(("small", "small", "small", "point", "half")))
        value, known = one_of_them.value, f"{one_of_them.line}. " if "=" in one_of_them.line else ""
        unit, more, result = _asked_in(draw, pair, form, count * value)
        shown = str(count) if draw.chance(0.7) else spelled(count)
        line = f"{known}{work(value, count, '×')[0]} {small}.{more}"
        said = {"k": shown, "x": one_of_them.told, "y": unit, "one": one, "many": many}
        return calculated(draw, _WORDING, "repeated", line, result, **said)
    whole = _amount(draw, pair, form, draw.any(("big", "big", "point", "half")))
    parts = [part for part in (5, 10, 15, 20, 25, 30, 40, 50, 100, 125, 200, 250, 500) if whole.value % part == 0]
    parts = [part for part in parts if 1 < whole.value // part < 41]
    if not parts:
        return repeated(draw)
    part = draw.any(parts)
    line, pieces = work(whole.value, part, "/")
    said = {"x": whole.told, "z": f"{part} {small}", "one": one, "many": many}
    return calculated(draw, _WORDING, "cut", f"{whole.line}. {line}.", pieces, **said)


def parted(draw: Draw) -> list[Exchange]:
    """The rest of an amount after so many pieces, or each one's share of it."""
    pair, form, count, one, many = _pieces(draw, 10)
    small, whole = pair.small[form], _amount(draw, pair, form, draw.any(("big", "big", "point", "both")))
    said = {"x": whole.told, "k": draw.any((count, spelled(count))), "one": one, "many": many, "y": small}
    if draw.chance(0.5):
        if whole.value % count:
            return parted(draw)
        line, each = work(whole.value, count, "/")
        return calculated(draw, _WORDING, "shared", f"{whole.line}. {line} {small}.", each, **said)
    part = pair.step * draw.whole(1, max(1, whole.value // count // pair.step))
    if part * count >= whole.value:
        return parted(draw)
    lines = f"{work(part, count, '×')[0]}. {worked_sum(whole.value, part * count, '-')} {small}."
    left = whole.value - part * count
    return calculated(draw, _WORDING, "rest", f"{whole.line}. {lines}", left, **said, z=f"{part} {small}")


def of_stuff(draw: Draw, pair: Pair, told: str) -> str:
    """The amount told, of something that has such a measure if anything has."""
    return f"{told} of {draw.any(_STUFF[pair.big[2]])}" if pair.big[2] in _STUFF else told


def casual(draw: Draw, unit: str) -> str:
    """The unit as it is written, or now and then as people shorten it."""
    return re.sub(r"[a-z]+$", lambda found: _SHORTER.get(found[0], found[0]), unit) if draw.chance(0.3) else unit


_SHORTER = dict(pairs(_WORDING, "shorter name"))
AMOUNTS = (*[joined] * 4, compared, in_both, *[repeated, parted] * 2)
