"""Percentages and unit conversions, worked in steps."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.sums import worked_product, worked_quotient, worked_sum
from assets.recipe.words import read_wording

_WORDING = read_wording("measures")


@dataclass(frozen=True)
class Pair:
    """Two units: the names of the bigger (one, many, short) and the smaller, and how many smaller ones it holds."""

    big: tuple[str, str, str]
    small: tuple[str, str, str]
    factor: int


def _unit(text: str) -> tuple[str, str, str]:
    one, many, short = text.split("/")
    return one, many, short or many


_PAIRS = tuple(
    Pair(_unit(big), _unit(small), int(factor)) for big, small, factor in (line.split() for line in _WORDING["pair"])
)
_TENS = (10, 100, 1000)
_THINGS = ("coat", "lamp", "bike", "chair", "phone", "table", "guitar", "watch", "tent", "jacket", "bag", "camera")
# Percentages, and the amounts that they are taken of: multiples of the second number, up to the third.
_PERCENTS = (
    ((10, 20, 30, 40, 60, 70, 80, 90), 10, 500), ((10, 20, 30, 40, 60, 70, 80, 90), 100, 900), ((50,), 2, 400),
    ((50, 25), 20, 800), ((25,), 4, 200), ((5, 15), 20, 400), ((75,), 20, 400), ((1, 2, 3, 4, 6, 7, 8, 9), 100, 900),
    ((20, 25, 50), 20, 200),
)  # fmt: skip


def worked_percentage(percent: int, amount: int) -> str:
    """The percentage of an amount from a tenth, a half, a quarter or a hundredth of it."""
    if percent in (50, 25, 10, 1):
        return f"{percent}% of {amount} is {worked_quotient(amount, 100 // percent)}"
    if percent == 15:
        ten, five = amount // 10, amount // 20
        return f"{worked_percentage(5, amount)}. 15% is {worked_sum(ten, five, '+')}"
    start = 25 if percent == 75 else 10 if percent % 10 == 0 or percent == 5 else 1
    part = amount * start // 100
    last = worked_quotient(part, 2) if percent == 5 else worked_product(part, percent // start)
    return f"{worked_percentage(start, amount)}. {percent}% is {last}"


def _converted(pair: Pair, number: int, down: bool, form: int) -> str:
    """The conversion of a number of big units, or of as many small ones as they make, worked."""
    product = number * pair.factor
    # A unit without a short form is written out.
    one = pair.big[2] if form == 2 and pair.big[2] != pair.big[1] else pair.big[0]
    small, big = pair.small[form], pair.big[form]
    known = f"1 {one} = {pair.factor} {small}."
    if not down:
        return f"{known} {worked_quotient(product, pair.factor)} {big}."
    # A factor of several digits is split, and never the zeros of a round one.
    work = worked_product(number, pair.factor) if pair.factor in _TENS else worked_product(pair.factor, number)
    return f"{known} {work} {small}."


def _top(pair: Pair) -> int:
    return {24: 7, 16: 10}.get(pair.factor, 60 if pair.factor in _TENS else 12)


def _asked(draw: Draw, pair: Pair, number: int, down: bool, form: int) -> tuple[str, str]:
    """The quantity as it is asked for, and the unit that it is wanted in."""
    shown = number if down else number * pair.factor
    unit, other = (pair.big, pair.small) if down else (pair.small, pair.big)
    close = form == 2 and unit[2] != unit[1] and draw.chance(0.4)
    return f"{shown}{'' if close else ' '}{unit[form]}", other[form]


def _conversion(draw: Draw) -> list[Exchange]:
    """A quantity in another unit, and perhaps another amount of it, or the same in a third unit where it has one."""
    which = draw.whole(0, len(_PAIRS) - 1)
    pair, down, form = _PAIRS[which], draw.chance(0.55), draw.any((1, 1, 2))

    def asked(way: str, pair: Pair, number: int, later: bool) -> Exchange:
        quantity, unit = _asked(draw, pair, number, down, form)
        ask = draw.asked(_WORDING, way, x=quantity, to=unit)
        result = number * pair.factor if down else number
        return Exchange(ask, _converted(pair, number, down, form), ends_with_numbers(result), later)

    number, other = (draw.numbers((which, which), (down, down), (2, _top(pair)))[2] for _ in range(2))
    exchanges, turn = [asked("convert", pair, number, False)], draw.rng.random()
    thirds = [third for third in _PAIRS if third.big == pair.big and third.small != pair.small]
    if turn < 0.25 and other != number:
        exchanges.append(asked("amount", pair, other, True))
    elif 0.25 <= turn < 0.45 and down and thirds:
        exchanges.append(asked("unit", draw.any(thirds), number, True))
    return exchanges


def _percent_and_amount(draw: Draw, easy: bool = False) -> tuple[int, int]:
    """A percentage of a number for which everything stays whole; easy: one of a usual discount."""
    while True:
        percents, step, top = draw.any(_PERCENTS)
        percent = draw.any(percents)
        _, steps = draw.numbers((percent, percent), (1, (200 if easy else top) // step))
        if not easy or percent in (5, 10, 20, 25, 30, 40, 50):
            return percent, step * steps


def _shown(draw: Draw, percent: int) -> str:
    return f"{percent}{draw.any(('%', '%', '%', '%', ' percent', ' %'))}"


def _share(percent: int, amount: int, sign: str, ask: str, later: bool = False) -> Exchange:
    """The percentage of the amount, or, with a sign, the amount with that added to it or taken off."""
    share, line = amount * percent // 100, f"{worked_percentage(percent, amount)}."
    if not sign:
        return Exchange(ask, line, ends_with_numbers(share), later)
    result = amount + share if sign == "+" else amount - share
    return Exchange(ask, f"{line} {worked_sum(amount, share, sign)}.", ends_with_numbers(result), later)


def _percentage(draw: Draw) -> list[Exchange]:
    """A percentage, and perhaps another one of the amount, or the same of another amount."""
    kind = draw.any(("percent", "percent", "part", "discount", "increase"))
    sign = {"discount": "-", "increase": "+"}.get(kind, "")
    percent, amount = _percent_and_amount(draw, kind != "percent")
    fields = {"thing": draw.any(_THINGS), "n": draw.name(), "p": _shown(draw, percent), "a": amount}
    exchanges, turn = [_share(percent, amount, sign, draw.asked(_WORDING, kind, **fields))], draw.rng.random()
    if turn < 0.22 and amount % 20 == 0:
        other = draw.any((10, 20, 50) if sign else (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90))
        if other != percent:
            ask = draw.ask(_WORDING["with"], p=_shown(draw, other))
            exchanges.append(_share(other, amount, sign, ask, True))
    elif turn < 0.4 and not sign:
        _, tens = draw.numbers((percent, percent), (1, 20))
        another = tens * (100 if percent < 10 and percent != 5 else 20)
        exchanges.append(_share(percent, another, "", draw.ask(_WORDING["of"], a=another), True))
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """A conversion or a percentage."""
    return _conversion(draw) if draw.chance(0.5) else _percentage(draw)
