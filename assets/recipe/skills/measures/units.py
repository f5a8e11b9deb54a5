"""Units worked in steps: conversions, degrees, halves; and every other measure, from its own file."""

from __future__ import annotations

from itertools import pairwise

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.measures import word_problems
from assets.recipe.skills.measures.amounts import AMOUNTS, METRIC, PAIRS, SPOKEN, TENS, Pair, casual, of_stuff
from assets.recipe.skills.measures.times import TIMES, chain
from assets.recipe.skills.numbers.arithmetic import plain, worked_product, worked_quotient
from assets.recipe.skills.numbers.percentages import percentage
from assets.recipe.user_words import calculated, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("measures/units")
_TOPS = {24: 7, 16: 10, 365: 5, 3600: 24, 1440: 5, 86400: 3, 168: 6}


def _converted(pair: Pair, number: int, down: bool, form: int) -> str:
    """The conversion of a number of big units, or of as many small ones as they make, worked."""
    product = number * pair.factor
    # A unit without a short form is written out.
    one = pair.big[2] if form == 2 and pair.big[2] != pair.big[1] else pair.big[0]
    small, big = pair.small[form], pair.big[form]
    known = f"1 {one} = {pair.factor} {small}."
    if number == 1:
        return known
    if not down:
        return f"{known} {worked_quotient(product, pair.factor)} {big}."
    # A factor of several digits is split, and never the zeros of a round one.
    work = worked_product(number, pair.factor) if pair.factor in TENS else worked_product(pair.factor, number)
    return f"{known} {work} {small}."


def _asked(draw: Draw, pair: Pair, number: int, down: bool, form: int) -> tuple[str, str]:
    """The quantity as it is asked for, and the unit that it is wanted in."""
    shown = number if down else number * pair.factor
    unit, other = (pair.big, pair.small) if down else (pair.small, pair.big)
    if number == 1:
        return f"{draw.any(('an' if unit[0] == 'hour' else 'a', 'one', '1'))} {unit[0]}", other[1]
    close = form == 2 and unit[2] != unit[1] and draw.chance(0.4)
    told = f"{shown:,}" if draw.chance(0.15) else spelled(shown) if not close and draw.chance(0.12) else str(shown)
    quantity = casual(draw, f"{told}{'' if close else ' '}{unit[form]}")
    return of_stuff(draw, pair, quantity) if draw.chance(0.15) else quantity, casual(draw, other[form])


def _conversion(draw: Draw) -> list[Exchange]:
    """A quantity in another unit, and perhaps another amount of it, or the same in a third unit where it has one."""
    which = draw.whole(0, len(PAIRS) - 1)
    pair, down, form = PAIRS[which], draw.chance(0.55), draw.any((1, 1, 2))

    def asked(way: str, pair: Pair, number: int, later: bool) -> Exchange:
        quantity, unit = _asked(draw, pair, number, down, form)
        if way == "convert" and down and draw.chance(0.1):
            way = "convert_told"
        ask = draw.asked(_WORDING, way, x=quantity, to=unit, one=pair.big[0], f=pair.factor, s=pair.small[form])
        result = number * pair.factor if down else number
        return Exchange(ask, _converted(pair, number, down, form), ends_with_numbers(result), later)

    top = _TOPS.get(pair.factor, 60 if pair.factor in TENS else 12)
    number, other = (draw.numbers((which, which), (down, down), (2, top))[2] for _ in range(2))
    number, form = (1, 1) if down and draw.chance(0.25) else (number, form)
    exchanges, turn = [asked("convert", pair, number, False)], draw.rng.random()
    thirds = [third for third in PAIRS if third.big == pair.big and third.small != pair.small]
    if turn < 0.25 and other != number:
        exchanges.append(asked("amount", pair, other, True))
    elif 0.25 <= turn < 0.45 and down and thirds:
        exchanges.append(asked("unit", draw.any(thirds), number, True))
    return exchanges


def _degrees(draw: Draw) -> list[Exchange]:
    celsius = draw.any((draw.whole(0, 24), 5 * draw.whole(0, 24), 10 * draw.whole(0, 12), 0, 37, 100))
    if draw.chance(0.6):
        more = celsius * 1.8
        line = f"{celsius} × 1.8 = {plain(more)}"
        if celsius and celsius % 5 == 0:
            line = chain((celsius, 5, "/"), (celsius // 5, 9, "×"))
        result = plain(more + 32)
        line += f". {plain(more)} + 32 = {result}."
        return calculated(draw, _WORDING, "to_fahrenheit", line, float(result), x=celsius)
    fifths = celsius // 5
    line = chain((9 * fifths + 32, 32, "-"), *(((9 * fifths, 9, "/"), (fifths, 5, "×")) if fifths else ()))
    return calculated(draw, _WORDING, "to_celsius", f"{line}.", 5 * fifths, x=9 * fifths + 32)


def _decimal(draw: Draw) -> list[Exchange]:
    """A quantity with a decimal point, in the smaller or the bigger unit."""
    pair, form = draw.any(METRIC), draw.any((1, 2))
    size = draw.any((pair.factor, pair.factor // 10, pair.factor // 10, max(1, pair.factor // 100)))
    amount = draw.numbers((1, draw.any((9, 99))), (size, size))[0] * size
    big, small, shown = pair.big[form], pair.small[form], plain(amount / pair.factor)
    known = f"1 {pair.big[0] if form == 1 or big == pair.big[1] else big} = {pair.factor} {small}."
    if draw.chance(0.5):
        line, x, to, result = f"{amount} / {pair.factor} = {shown} {big}", f"{amount} {small}", big, float(shown)
    else:
        # The point moves by one place at a time.
        moved = [plain(amount / ten) for ten in (1000, 100, 10, 1) if ten <= pair.factor]
        steps = ", ".join(f"{one} × 10 = {after}" for one, after in pairwise(moved))
        steps = steps if "." in shown else f"{shown} × {pair.factor} = {amount}"
        line, x, to, result = f"{steps} {small}", f"{shown} {big}", small, amount
    x = of_stuff(draw, pair, casual(draw, x)) if draw.chance(0.3) else casual(draw, x)
    return calculated(draw, _WORDING, "convert", f"{known} {line}.", result, x=x, to=casual(draw, to))


def _half(draw: Draw) -> list[Exchange]:
    """A half or a quarter of a unit, or hours with a half."""
    if draw.chance(0.3):
        halves = draw.whole(1, 9)
        line = f"1 hour = 60 minutes. {halves * 30} / 60 = {plain(halves / 2)} hours."
        to = draw.any(("hours", "hours, as a decimal"))
        return calculated(draw, _WORDING, "convert", line, halves / 2, x=f"{halves * 30} minutes", to=to)
    pair = draw.any([pair for pair in PAIRS if pair.factor % 4 == 0])
    n, quarters = draw.whole(1, draw.any((5, 12))), draw.any((1, 2, 2, 3))
    big, small, factor, whole = pair.big[0], pair.small[1], pair.factor, draw.chance(0.55)
    a_big = f"{'an' if big == 'hour' else 'a'} {big}"
    ways = _WORDING[f"told {quarters} more" if whole else f"told {quarters}"]
    many = draw.any(ways[:-1] if factor in TENS else ways)
    many = f"{a_big} and a half" if whole and n == 1 and quarters == 2 and draw.chance(0.5) else many
    some = big if n == 1 else pair.big[1]
    many = many.format(a=a_big, u=big, us=pair.big[1], n=n, t=draw.any((n, spelled(n))), some=some)
    part = factor * quarters // 4
    steps = [(n, factor, "×")] * whole + [(factor, 2 if quarters == 2 else 4, "/")]
    steps += [(factor // 4, 3, "×")] * (quarters == 3) + [(n * factor, part, "+")] * whole
    line = f"1 {big} = {factor} {small}. {chain(*steps)} {small}."
    return calculated(draw, _WORDING, "half", line, n * factor * whole + part, x=many, y=small)


def _both(draw: Draw) -> list[Exchange]:
    """A quantity of two units in the smaller one, or one of the smaller unit in both."""
    pair, form = draw.any(SPOKEN), draw.any((1, 1, 2))
    factor, small = pair.factor, pair.small[form]
    a, b = draw.numbers((1, 5), (1, factor - 1))
    b = 5 * max(1, b // 5) if factor > 20 else b
    big = pair.big[0] if a == 1 and form == 1 else pair.big[form]
    if draw.chance(0.6):
        x = f"{a} {big} {draw.any(('', 'and '))}{b} {small}"
        if pair.big[0] == "hour" and draw.chance(0.3):
            x = draw.any((f"{a}h{b:02}", f"{a}h {b}min", f"{a} hour{'s' * (a > 1)} {b}", f"{a}h{b:02}m"))
        line = chain((a, factor, "×"), (a * factor, b, "+"))
        return calculated(draw, _WORDING, "both", f"{line} {small}.", a * factor + b, x=x, y=small)
    ask = draw.asked(_WORDING, "split", x=f"{a * factor + b} {small}", big=pair.big[1], small=pair.small[1])
    rests = [(a - n) * factor + b for n in range(a + 1)]
    steps = (f"{n} {pair.big[n > 1]}: {rests[n - 1]} - {factor} = {rests[n]}" for n in range(1, a + 1))
    return [worked(ask, f"{'. '.join(steps)}. {b} is less than {factor}", f"{a} {big} {b} {small}.")]


_WAYS = (*[_conversion] * 11, *[percentage] * 10, *[_decimal, _both] * 5, *[_half] * 4, *[_degrees] * 2,
         *[lambda draw: word_problems.compose(draw, 2)] * 4, *AMOUNTS, *TIMES)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """A conversion, a percentage, a time, a date, a shape, coins."""
    return word_problems.respelled(draw, draw.any(_WAYS)(draw))
