"""Percentages worked in steps: of a number, off a price, on top of it; the percentage that one number is of another."""

from __future__ import annotations

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import plain, work, worked_product, worked_ratio, worked_sum
from assets.recipe.user_words import calculated
from assets.recipe.words import entries, read_wording, spelled, weighted

_WORDING = read_wording("numbers/percentages")
_THINGS = entries(_WORDING, "things")
_KINDS, _AROUND = weighted(_WORDING, "kinds"), weighted(_WORDING, "kinds around")
# Percentages, what the amounts are multiples of that they are taken of, and the largest amount.
_PERCENTS = tuple(tuple(tuple(map(int, part.split())) for part in line.split(" / ")) for line in _WORDING["parts"])
_SIGNS = weighted(_WORDING, "signs")
_USUAL = (5, 7, 10, 15, 19, 20, 21, 25, 30, 40, 50, 60, 70, 75, 80, 90)


def worked_percentage(percent: int, amount: int) -> str:
    """The percentage of an amount: a half, a quarter, a tenth or a hundredth of it, or a product divided."""
    if percent in (50, 25, 10, 1):
        return f"{percent}% of {amount} is {worked_ratio(amount, 100 // percent)}"
    if percent == 75:
        return f"{worked_percentage(25, amount)}. 75% is {worked_product(amount // 4, 3)}"
    if percent in (5, 15):
        five = f"{worked_percentage(10, amount)}. 5% is {worked_ratio(amount // 10, 2)}"
        tenth, twentieth, both = (plain(amount * part / 20) for part in (2, 1, 3))
        sums = f"{tenth} + {twentieth} = {both}" if amount % 20 else worked_sum(amount // 10, amount // 20, "+")
        return five if percent == 5 else f"{five}. 15% is {sums}"
    times, of = (percent // 10, 10) if percent % 10 == 0 else (percent, 100)
    start = f"{percent}% of {amount} is {amount} × {times} / {of}"
    return f"{start}. {worked_product(amount, times)}. {worked_ratio(amount * times, of)}"


def _percent_and_amount(draw: Draw, exact: int = 100) -> tuple[int, int]:
    """A percentage of a number: one of a usual discount that is whole (exact 100) or not (10), or any (1)."""
    while True:
        percents, (step,), (top,) = draw.any(_PERCENTS)
        percent = draw.any(percents)
        _, steps = draw.numbers((percent, percent), (1, (top if exact == 1 else 200) // step))
        share = percent * step * steps
        if exact == 1 or (percent in _USUAL and share % exact == 0 and (exact == 100) == (share % 100 == 0)):
            return percent, step * steps


def _shown(draw: Draw, percent: int) -> str:
    return f"{spelled(percent)} percent" if draw.chance(0.04) else f"{percent}{draw.any(_SIGNS)}"


def _share(percent: int, amount: int, sign: str, ask: str, later: bool = False) -> Exchange:
    """The percentage of the amount, or, with a sign, the amount with that added to it or taken off."""
    share, line = amount * percent / 100, f"{worked_percentage(percent, amount)}."
    if not sign:
        return Exchange(ask, line, ends_with_numbers(share), later)
    result = amount + share if sign == "+" else amount - share
    total, whole = work(amount, int(share), sign)
    tenths = f" {whole} {sign} {plain(share % 1)} = {plain(result)}." if share % 1 else ""
    line = f"{amount} {sign} {percent}%: {line} {total}.{tenths}"
    return Exchange(ask, line, ends_with_numbers(float(plain(result))), later)


def percentage(draw: Draw) -> list[Exchange]:
    """A percentage, and perhaps another one of the amount, or the same of another amount."""
    kind = draw.any(_KINDS)
    if kind == "what_percent":
        return _what_percent(draw)
    if kind == "around":
        return _around(draw)
    sign = {"discount": "-", "increase": "+"}.get(kind, "")
    percent, amount = _percent_and_amount(draw, 1 if kind == "percent" else draw.any((100, 100, 100, 10)))
    fields: dict[str, object] = {"thing": draw.any(_THINGS), "n": draw.name(), "p": _shown(draw, percent)}
    fields["a"] = f"{amount:,}" if draw.chance(0.5) else amount
    exchanges, turn = [_share(percent, amount, sign, draw.asked(_WORDING, kind, **fields))], draw.rng.random()
    if turn < 0.22 and amount % 20 == 0:
        other = draw.any((10, 20, 50) if sign else (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90))
        if other != percent:
            ask = draw.ask(_WORDING["with"], p=_shown(draw, other))
            exchanges.append(_share(other, amount, sign, ask, True))
    elif turn < 0.4 and not sign:
        _, tens = draw.numbers((percent, percent), (1, 20))
        another = tens * (100 if percent % 5 else 20)
        exchanges.append(_share(percent, another, "", draw.ask(_WORDING["of"], a=another), True))
    return exchanges


def _what_percent(draw: Draw) -> list[Exchange]:
    """The percentage that one number is of another."""
    percent, whole = _percent_and_amount(draw)
    if draw.chance(0.6):
        whole = draw.any((10, 20, 25, 50, 100 * draw.whole(1, 9), 4 * draw.whole(1, 30)))
        percent = draw.any([n for n in range(1, 100) if n * whole % 100 == 0])
    part = whole * percent // 100
    line = f"{_in_hundredths(part, whole)}. That is {percent}%."
    return calculated(draw, _WORDING, "what_percent", line, percent, a=part, b=whole, n=draw.name())


def _in_hundredths(part: int, whole: int) -> str:
    """The part of the whole in smaller numbers until hundredths, 12/48 = 6/24 = 3/12 = 1/4 = 25/100, or by 1%."""
    if whole % 100 == 0 and whole > 100:
        return f"{worked_percentage(1, whole)}. {work(part, whole // 100, '/')[0]}"
    chain = [f"{part}/{whole}"]
    while 100 % whole:
        by = next(n for n in (10, *range(2, whole)) if part % n == whole % n == 0)
        part, whole = part // by, whole // by
        chain.append(f"{part}/{whole}")
    return " = ".join([*chain, f"{part * 100 // whole}/100"] if whole < 100 else chain)


def _around(draw: Draw) -> list[Exchange]:
    """A percentage and a step more: something added or shared, several at a discount, a change, the whole of a part."""
    way, count, more = draw.any(_AROUND), draw.whole(2, 6), draw.whole(2, 40)
    percent, amount = _percent_and_amount(draw)
    share = amount * percent // 100
    said: dict[str, object] = {"p": _shown(draw, percent), "a": amount, "k": count, "thing": draw.any(_THINGS)}
    if way in ("shipping", "filled"):
        first = _share(percent, amount, "-" if way == "shipping" else "", "").reply
        so_far = amount - share if way == "shipping" else share
        line = f"{first} {worked_sum(so_far, more, '+')}."
        return calculated(draw, _WORDING, way, line, so_far + more, **said, c=more)
    if way == "several":
        price = 5 * draw.whole(1, 12) * (2 if count % 2 else 1)
        amount, percent = price * count, draw.any((10, 20, 50))
        line = f"{worked_product(price, count)}. {_share(percent, amount, '-', '').reply}"
        said |= {"a": price, "p": _shown(draw, percent)}
        return calculated(draw, _WORDING, way, line, amount * (100 - percent) // 100, **said)
    if way == "shared tip":
        total = amount + share
        if total % count:
            return _around(draw)
        line = f"{_share(percent, amount, '+', '').reply} {work(total, count, '/')[0]}."
        return calculated(draw, _WORDING, way, line, total // count, **said)
    if way == "whole_of":
        line = f"{worked_product(share, 100)}. {work(share * 100, percent, '/')[0]}."
        return calculated(draw, _WORDING, way, line, amount, **said, b=share)
    then = amount + share if way == "risen" else amount - share
    line = f"{worked_sum(max(amount, then), min(amount, then), '-')}. {_in_hundredths(share, amount)}."
    return calculated(draw, _WORDING, way, f"{line} That is {percent}%.", percent, **said, b=then)
