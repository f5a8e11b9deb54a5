"""Measures worked in steps: percentages, units, degrees, times and dates, shapes, coins."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.sums import plain, work, worked_product, worked_quotient, worked_sum
from assets.recipe.skills.word_problems import compose_shapes, respelled
from assets.recipe.user_words import worked
from assets.recipe.words import read_wording, spelled

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


_LINES = (line.split() for line in _WORDING["pair"])
_PAIRS = tuple(Pair(_unit(big), _unit(small), int(factor)) for big, small, factor in _LINES)
_TENS = (10, 100, 1000)
_METRIC = tuple(pair for pair in _PAIRS if pair.factor in _TENS)
_SPOKEN = tuple(pair for pair in _PAIRS if pair.big[1] not in ("tonnes", "dozens", "yards"))
_THINGS = ("coat", "lamp", "bike", "chair", "phone", "table", "guitar", "watch", "tent", "jacket", "bag", "camera")
# Percentages, and the amounts that they are taken of: multiples of the second number, up to the third.
_PERCENTS = (
    ((10, 20, 30, 40, 60, 70, 80, 90), 10, 500), ((10, 20, 30, 40, 60, 70, 80, 90), 100, 900), ((50,), 2, 400),
    ((50, 25), 20, 800), ((25,), 4, 200), ((5, 15), 20, 400), ((75,), 20, 400), ((1, 2, 3, 4, 6, 7, 8, 9), 100, 900),
    ((20, 25, 50), 20, 200), ((20, 40, 60, 80), 5, 195), ((20, 40), 5, 95), ((4, 8, 12, 16), 25, 400),
)  # fmt: skip


def worked_percentage(percent: int, amount: int) -> str:
    """The percentage of an amount from a tenth, a half, a quarter or a hundredth of it."""
    if percent in (50, 25, 10, 1):
        return f"{percent}% of {amount} is {worked_quotient(amount, 100 // percent)}"
    if percent == 15:
        ten, five = amount // 10, amount // 20
        return f"{worked_percentage(5, amount)}. 15% is {worked_sum(ten, five, '+')}"
    start = 25 if percent == 75 else 10 if percent % 10 == 0 or percent == 5 else 1
    if amount * start % 100:
        # No whole tenth, say: the product first.
        return f"{worked_product(amount, percent)}. {worked_quotient(amount * percent, 100)}"
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
        if not easy or percent in (5, 10, 20, 25, 30, 40, 50, 60):
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


def chain(*steps: tuple[int, int, str]) -> str:
    """The steps worked, each a sentence."""
    return ". ".join(work(*step)[0] for step in steps)


def _told(draw: Draw, way: str, line: str, result: float, **said: object) -> list[Exchange]:
    """The question asked in this way, and the answer worked; the result is its last number."""
    return [Exchange(draw.asked(_WORDING, way, **said), line, ends_with_numbers(result))]


def _degrees(draw: Draw) -> list[Exchange]:
    celsius = draw.any((draw.whole(0, 24), 5 * draw.whole(0, 24), 10 * draw.whole(0, 12), 0, 37, 100))
    if draw.chance(0.6):
        more = celsius * 1.8
        line = f"{celsius} × 1.8 = {plain(more)}"
        if celsius and celsius % 5 == 0:
            line = chain((celsius, 5, "/"), (celsius // 5, 9, "×"))
        result = plain(more + 32)
        return _told(draw, "to_fahrenheit", f"{line}. {plain(more)} + 32 = {result}.", float(result), x=celsius)
    celsius -= celsius % 5
    fifths = celsius // 5
    line = chain((9 * fifths + 32, 32, "-"), *(((9 * fifths, 9, "/"), (fifths, 5, "×")) if fifths else ()))
    return _told(draw, "to_celsius", f"{line}.", celsius, x=9 * fifths + 32)


def _clock(draw: Draw) -> list[Exchange]:
    """A time so long after another, or the minutes between two."""
    hour, minute, later, hours = draw.whole(1, 19), 5 * draw.whole(0, 11), 5 * draw.whole(1, 11), draw.whole(1, 4)
    x, way = f"{hour}:{minute:02}", draw.any(("minutes_between", "hours_later", "minutes_later"))
    if way == "minutes_between":
        stop, whole = later % 60, hours * 60
        steps = (hours, 60, "×"), (whole, stop, "+"), (whole + stop, minute, "-")
        line = f"{hour + hours} - {hour} = {hours}. {chain(*steps)}"
        return _told(draw, way, f"{line} minutes.", whole + stop - minute, x=x, y=f"{hour + hours}:{stop:02}")
    if way == "hours_later":
        k, answer, line = hours, f"{hour + hours}:{minute:02}", chain((hour, hours, "+"))
    else:
        k, total = later, minute + later
        answer, line = f"{hour + total // 60}:{total % 60:02}", f"{minute} + {later} = {total}"
        line += f". {total} - 60 = {total - 60}. {hour} + 1 = {hour + 1}" if total >= 60 else ""
    ask = draw.ask(_WORDING[way], x=x, k=draw.any((k, spelled(k))) if k < 5 else k)
    return [worked(ask, line, f"{answer}.")]


def _calendar(draw: Draw) -> list[Exchange]:
    """The day or the month so many after or before another, all of them on the way told."""
    way, most, back = draw.any(("day", "month")), draw.whole(1, 8), draw.chance(0.3)
    names = words.KINDS[f"{way}s"]
    at = draw.whole(0, len(names) - 1)
    row = [names[(at + (-step if back else step)) % len(names)] for step in range(most + 1)]
    pool = _WORDING[f"{way}_{'before' if back else 'after'}"]
    ask = draw.ask(pool, x=draw.any((row[0], row[0], row[0].lower())), k=draw.any((most, spelled(most))))
    return [worked(ask, ", ".join(row), f"{row[-1]}.")]


def _decimal(draw: Draw) -> list[Exchange]:
    """A quantity with a decimal point, in the smaller or the bigger unit."""
    pair, form = draw.any(_METRIC), draw.any((1, 2))
    size = draw.any((pair.factor, pair.factor // 10, pair.factor // 10, max(1, pair.factor // 100)))
    amount = draw.numbers((1, 99), (size, size))[0] * size
    big, small, shown = pair.big[form], pair.small[form], plain(amount / pair.factor)
    known = f"1 {pair.big[0] if form == 1 else big} = {pair.factor} {small}."
    if draw.chance(0.5):
        line = f"{known} {amount} / {pair.factor} = {shown} {big}."
        return _told(draw, "convert", line, float(shown), x=f"{amount} {small}", to=big)
    line = f"{known} {shown} × {pair.factor} = {amount} {small}."
    return _told(draw, "convert", line, amount, x=f"{shown} {big}", to=small)


def _half(draw: Draw) -> list[Exchange]:
    """A half or a quarter of a unit, or hours with a half."""
    if draw.chance(0.3):
        halves = draw.whole(1, 9)
        line = f"1 hour = 60 minutes. {halves * 30} / 60 = {plain(halves / 2)} hours."
        to = draw.any(("hours", "hours, as a decimal"))
        return _told(draw, "convert", line, halves / 2, x=f"{halves * 30} minutes", to=to)
    pair = draw.any([pair for pair in _PAIRS if pair.factor % 4 == 0])
    part, parts = draw.any((("half", 2), ("half", 2), ("a quarter of", 4)))
    big, small = pair.big[0], pair.small[1]
    line = f"1 {big} = {pair.factor} {small}. {chain((pair.factor, parts, '/'))} {small}."
    return _told(draw, "half", line, pair.factor // parts, x=f"{part} {'an' if big == 'hour' else 'a'} {big}", y=small)


def _both(draw: Draw) -> list[Exchange]:
    """A quantity of two units in the smaller one, or with more added to it; or two quantities compared."""
    pair, form = draw.any(_SPOKEN), draw.any((1, 1, 2))
    factor, small = pair.factor, pair.small[form]
    a, b, c = draw.numbers((1, 5), (1, factor - 1), (1, factor - 1))
    b = 5 * max(1, b // 5) if factor > 20 else b
    big = pair.big[0] if a == 1 and form == 1 else pair.big[form]
    way = draw.any(("both", "both", "added", "longer", "shorter", "is_more"))
    steps, x = [(a, factor, "×"), (a * factor, b, "+")], f"{a} {big} {b} {small}"
    if way == "both":
        x = x.replace(f"{big} ", f"{big} and ") if draw.chance(0.5) else x
        return _told(draw, way, f"{chain(*steps)} {small}.", a * factor + b, x=x, y=small)
    if way == "added":
        line = chain(*steps, (a * factor + b, c, "+"))
        return _told(draw, way, f"{line} {small}.", a * factor + b + c, x=x, z=f"{c} {small}", y=small)
    amount = a * factor + draw.any((-1, 1)) * max(1, factor // draw.any((2, 4, 10)))
    first, second = f"{a} {big}", f"{amount} {small}"
    flipped, more = draw.chance(0.5), a * factor > amount
    ask = draw.ask(_WORDING[way], x=second if flipped else first, y=first if flipped else second)
    answer = first if more == (way == "longer") else second
    if way == "is_more":
        ask, answer = ask + draw.say(_WORDING["yes or no"]), "yes." if more != flipped else "no."
    return [worked(ask, f"{first} = {a * factor} {small}", answer)]


_WAYS = (*[_conversion, _percentage] * 4, *[_degrees, _clock, _decimal, _both, compose_shapes] * 3, _calendar, _half)


def compose(draw: Draw) -> list[Exchange]:
    """A conversion, a percentage, a time, a date, a shape, coins."""
    return respelled(draw, draw.any(_WAYS)(draw))
