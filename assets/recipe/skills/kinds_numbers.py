"""More kinds of questions about numbers: degrees, clocks, calendars, coins, shapes, fractions, decimals."""

from __future__ import annotations

from assets.recipe.conversation import Exchange, ends_with_numbers, exactly_in, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.kinds_words import SAID, yes_or_no
from assets.recipe.skills.sums import work
from assets.recipe.words import KINDS, spelled

_DAYS, _MONTHS = (KINDS[name] for name in ("days", "months"))
_COINS = {"quarter": 25, "dime": 10, "nickel": 5}
_FRACTIONS = {"half": 2, "a third": 3, "one third": 3, "a quarter": 4, "one quarter": 4, "a fifth": 5, "one fourth": 4,
              "a tenth": 10, "one half": 2}  # fmt: skip
# Units: the bigger, the smaller, and how many of these it holds.
_METRIC = (("m", "cm", 100), ("km", "m", 1000), ("kg", "g", 1000), ("l", "ml", 1000), ("cm", "mm", 10),
           ("metres", "centimetres", 100), ("kilometres", "metres", 1000), ("kilograms", "grams", 1000),
           ("litres", "millilitres", 1000), ("tonnes", "kg", 1000), ("dollars", "cents", 100), ("L", "ml", 1000),
           ("euros", "cents", 100), ("centimetres", "millimetres", 10), ("meters", "centimeters", 100), ("kilometers", "meters", 1000), ("liters", "milliliters", 1000), ("tonnes", "kilograms", 1000))  # fmt: skip
_HALVES = (("kilometre", "metres", 1000), ("kilogram", "grams", 1000), ("litre", "millilitres", 1000), ("liter", "milliliters", 1000), ("meter", "centimeters", 100),
           ("metre", "centimetres", 100), ("hour", "minutes", 60), ("minute", "seconds", 60), ("dozen", "pieces", 12),
           ("day", "hours", 24), ("tonne", "kilograms", 1000), ("km", "m", 1000), ("kg", "g", 1000))  # fmt: skip
_BOTH = (("hour", "minutes", 60), ("m", "cm", 100), ("dollars", "cents", 100), ("km", "m", 1000), ("kg", "g", 1000),
         ("h", "min", 60), ("metres", "centimetres", 100), ("euros", "cents", 100), ("minutes", "seconds", 60),
         ("weeks", "days", 7), ("meters", "centimeters", 100), ("kilometers", "meters", 1000), ("feet", "inches", 12), ("years", "months", 12))  # fmt: skip


def _chain(*steps: tuple[int, int, str]) -> str:
    """The steps worked, each a sentence."""
    return ". ".join(work(*step)[0] for step in steps)


def told(draw: Draw, way: str, line: str, result: float, **fields: object) -> list[Exchange]:
    """The question asked in this way, and the answer worked; the result is its last number."""
    return [Exchange(draw.ask(SAID[way], **fields), line, ends_with_numbers(result))]


def _plain(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _degrees(draw: Draw) -> list[Exchange]:
    n = draw.numbers((0, 24), (0, 1))[0] * draw.any((1, 5, 5))
    if draw.chance(0.6):
        c = draw.any((n, 5 * (n % 21), 0, 100, 20, 37))
        five = c % 5 == 0
        nine = _plain(c * 1.8)
        line = (_chain((c, 5, "/"), (c // 5, 9, "×")) if five and c else f"{c} × 1.8 = {nine}") + f". {nine} + 32 = {_plain(c * 1.8 + 32)}."
        return told(draw, "to_fahrenheit", line, float(_plain(c * 1.8 + 32)), x=c)
    c = draw.any((5 * (n % 21), 0, 100, 10 * (n % 11)))
    f = c * 9 // 5 + 32
    line = _chain((f, 32, "-"), *(((f - 32, 9, "/"), ((f - 32) // 9, 5, "×")) if f > 32 else ())) + "."
    return told(draw, "to_celsius", line, c, x=f)


def _clock(draw: Draw) -> list[Exchange]:
    """A time so long after another, or the minutes between two."""
    hour, minute, later = draw.whole(1, 22), 5 * draw.whole(0, 11), 5 * draw.whole(1, 11)
    if draw.chance(0.45):
        end = draw.whole(hour, min(23, hour + 4))
        stop = 5 * draw.whole(0, 11)
        if (end, stop) <= (hour, minute):
            end += 1
        hours = end - hour
        whole = hours * 60
        steps = [f"{end} - {hour} = {hours}", work(hours, 60, "×")[0], work(whole, stop, "+")[0], work(whole + stop, minute, "-")[0]]
        result = whole + stop - minute
        return told(draw, "minutes_between", ". ".join(steps) + " minutes.", result, x=f"{hour}:{minute:02}", y=f"{end}:{stop:02}")
    x = f"{hour}:{minute:02}"
    if draw.chance(0.4):
        hours = draw.whole(1, 4)
        answer = f"{(hour + hours) if hour + hours < 24 else hour + hours - 24}:{minute:02}"
        line = f"{work(hour, hours, '+')[0]}. So {answer}."
        return [Exchange(draw.ask(SAID["hours_later"], x=x, k=draw.any((hours, spelled(hours)))), line, exactly_in(answer))]
    total = minute + later
    if total < 60:
        answer, line = f"{hour}:{total:02}", f"{minute} + {later} = {total}"
    else:
        answer = f"{hour + 1}:{total - 60:02}"
        line = f"{minute} + {later} = {total}. {total} - 60 = {total - 60}. {hour} + 1 = {hour + 1}"
    return [Exchange(draw.ask(SAID["minutes_later"], x=x, k=later), f"{line}. So {answer}.", exactly_in(answer))]


def _calendar(draw: Draw) -> list[Exchange]:
    round_, way, most = draw.any(((_DAYS, "day_after", 10), (_MONTHS, "month_after", 7)))
    at, k = draw.whole(0, len(round_) - 1), draw.whole(1, most)
    back = draw.chance(0.3)
    row = [round_[(at + (-step if back else step)) % len(round_)] for step in range(k + 1)]
    ask = draw.ask(SAID[way + (" back" if back else "")], x=draw.any((row[0], row[0], row[0].lower())), k=draw.any((k, spelled(k))))
    return [Exchange(ask, f"{', '.join(row)}. So {row[-1]}.", mentions(row[-1]))]


def _decimal(draw: Draw) -> list[Exchange]:
    """A quantity with a decimal point, in the smaller or the bigger unit."""
    big, small, factor = draw.any(_METRIC)
    tenths = draw.numbers((1, 99), (factor, factor))[0]
    whole = draw.chance(0.3)
    small_amount = tenths * factor if whole else tenths * factor // 10
    if not whole and draw.chance(0.25) and factor > 10:
        small_amount = draw.whole(1, 999) * factor // 100
    amount = _plain(small_amount / factor)
    if draw.chance(0.5):
        line = f"1 {big.removesuffix('s') if len(big) > 2 else big} = {factor} {small}. {small_amount} / {factor} = {amount} {big}."
        return told(draw, "unit", line, float(amount), x=f"{small_amount} {small}", y=big)
    line = f"1 {big.removesuffix('s') if len(big) > 2 else big} = {factor} {small}. {amount} × {factor} = {small_amount} {small}."
    return told(draw, "unit", line, small_amount, x=f"{amount} {big}", y=small)


def _hours(draw: Draw) -> list[Exchange]:
    halves = draw.whole(1, 9)
    hours = _plain(halves / 2)
    line = f"1 hour = 60 minutes. {halves * 30} / 60 = {hours} hours."
    return told(draw, "unit", line, halves / 2, x=f"{halves * 30} minutes", y=draw.any(("hours", "hours, as a decimal")))


def _shape(draw: Draw) -> list[Exchange]:
    way = draw.any(("perimeter", "area", "square_around", "square_area"))
    a, b = draw.numbers((2, 30), (2, 12))
    unit = draw.any(("cm", "m", "metres", "centimetres", "mm", "km", "feet", "inches"))
    if way == "perimeter":
        return told(draw, way, _chain((a, b, "+"), (2, a + b, "×")) + f" {unit}.", 2 * (a + b), a=a, b=b, u=unit)
    if way == "area":
        return told(draw, way, _chain((a, b, "×")) + f" square {unit}.", a * b, a=a, b=b, u=unit)
    sign, other = (4, a) if way == "square_around" else (a, a)
    return told(draw, way, _chain((sign, other, "×")) + f" {unit}.", sign * other, a=a, u=unit)


def _coins(draw: Draw) -> list[Exchange]:
    (one, n), (other, m) = draw.rng.sample(sorted(_COINS.items()), 2)
    a, b = draw.numbers((2, 9), (2, 9))
    x = f"{draw.any((a, spelled(a)))} {one}s"
    if draw.chance(0.5):
        return told(draw, "coins", _chain((a, n, "×")) + " cents.", a * n, x=x)
    x += f" and {draw.any((b, spelled(b)))} {other}s"
    return told(draw, "coins", _chain((a, n, "×"), (b, m, "×"), (a * n, b * m, "+")) + " cents.", a * n + b * m, x=x)


def _both(draw: Draw) -> list[Exchange]:
    """A quantity of two units in the smaller one, or two of them added, or compared."""
    big, small, factor = draw.any(_BOTH)
    a, b, c = draw.numbers((1, 5), (1, factor - 1), (1, factor - 1))
    b = 5 * max(1, b // 5) if factor > 20 else b
    named = big if a > 1 or len(big) < 3 or big == "hour" and a == 1 else big.removesuffix("s")
    named = "hours" if named == "hour" and a > 1 else named
    way = draw.any(("both", "both", "added", "longer", "longer", "is_more", "half"))
    if way == "half":
        big, small, factor = draw.any(_HALVES)
        name, parts = draw.any((("half a", 2), ("half a", 2), ("a quarter of a", 4), ("half an", 2)))
        name = "half an" if big == "hour" and parts == 2 else "half a" if name == "half an" else name
        line = f"1 {big} = {factor} {small}. {work(factor, parts, '/')[0]} {small}."
        return told(draw, way, line, factor // parts, x=f"{name}{'n' if big == 'hour' and parts == 4 else ''} {big}", y=small)
    if way == "both":
        between = draw.any((" and ", " "))
        line = f"{work(a, factor, '×')[0]}. {work(a * factor, b, '+')[0]} {small}."
        return told(draw, way, line, a * factor + b, x=f"{a} {named}{between}{b} {small}", y=small)
    if way == "added":
        line = f"{work(a, factor, '×')[0]}. {work(a * factor, b, '+')[0]}. {work(a * factor + b, c, '+')[0]} {small}."
        return told(draw, way, line, a * factor + b + c, x=f"{a} {named} {b} {small}", z=f"{c} {small}", y=small)
    amount = a * factor + draw.any((-1, 1)) * max(1, factor // draw.any((2, 4, 10)))
    first, second = f"{a} {named}", f"{amount} {small}"
    worked = f"{first} = {a * factor} {small}"
    if way == "is_more":
        flipped = draw.chance(0.5)
        x, y = (second, first) if flipped else (first, second)
        return yes_or_no(draw, way, worked, (a * factor > amount) != flipped, x=x, y=y)
    more = draw.chance(0.5)
    answer = first if (a * factor > amount) == more else second
    x, y = (first, second) if draw.chance(0.5) else (second, first)
    ask = draw.ask(SAID["longer" if more else "shorter"], x=x, y=y)
    return [Exchange(ask, f"{worked}. So {answer}", exactly_in(answer))]


def measures(draw: Draw) -> list[Exchange]:
    """A quantity, a time or a date otherwise told."""
    return draw.any((*[_degrees, _clock, _decimal] * 4, _calendar, _calendar, _hours, _shape, _shape, _coins, *[_both] * 4))(draw)


def sums(draw: Draw) -> list[Exchange]:
    """Fractions, percentages, powers, remainders, what is missing, numbers below zero and with a point."""
    way = draw.any(("part", "part", "missing", "missing", "squared_plus", "brackets", "brackets", "negative", "point",
                    "modulo", "power", "in_words", "percent", "several", "less_than_zero"))  # fmt: skip
    a, b, c, d = draw.numbers((2, 60), (2, 30), (2, 12), (2, 9))
    if way == "part":
        name, k = draw.any(tuple(_FRACTIONS.items()))
        return told(draw, way, _chain((k * b, k, "/")) + ".", b, x=name, a=k * b)
    if way == "missing":
        return told(draw, way, _chain((a + b, a, "-")) + ".", b, a=a, b=a + b)
    if way == "squared_plus":
        sign = draw.any("+-")
        b = min(b, c * c - 1) if sign == "-" else b
        return told(draw, way, _chain((c, c, "×"), (c * c, b, sign)) + ".", c * c + (b if sign == "+" else -b), a=c, b=b,
                    s="plus" if sign == "+" else "minus")  # fmt: skip
    if way == "brackets":
        one, other = draw.any("+-"), draw.any("+-")
        a, b, c, d = b + c, c, c + d, d
        x, y = (n + m if sign == "+" else n - m for n, m, sign in ((a, b, one), (c, d, other)))
        line = _chain((a, b, one), (c, d, other), (x, y, "×")) + "."
        t = draw.any((" * ", "*", " × ", " x "))
        return told(draw, "paren_pair", line, x * y, x=f"({a} {one} {b}){t}({c} {other} {d})")
    if way in ("negative", "less_than_zero"):
        small, large = min(a, b), max(a, b) + 1
        if way == "negative":
            return told(draw, "row_of", f"-{small} + {large} = {large} - {small} = {large - small}.", large - small, x=f"-{small} + {large}")
        line = f"{work(large, small, '-')[0]}, so {small} - {large} = {small - large}."
        return told(draw, "row_of", line, small - large, x=f"{small} - {large}")
    if way == "point":
        one, other = draw.whole(1, 400) / draw.any((4, 10, 10, 2)), draw.whole(1, 99) / draw.any((2, 10, 10))
        one, other = float(_plain(round(one, 2))), float(_plain(other))
        result = _plain(one + other)
        return told(draw, "row_of", f"{_plain(one)} + {_plain(other)} = {result}.", float(result), x=f"{_plain(one)} + {_plain(other)}")
    if way == "modulo":
        whole, left = divmod(a, c)
        line = f"{work(whole, c, '×')[0]}. {work(a, whole * c, '-')[0]}." if whole else f"{a} is less than {c}, so {a}."
        return told(draw, way, line, left, a=a, b=c)
    if way == "power":
        base, k = draw.any(((2, draw.whole(2, 8)), (3, draw.whole(2, 4)), (10, draw.whole(2, 4)), (5, 3), (4, 3)))
        row, line = base, []
        for _ in range(k - 1):
            line.append(work(row, base, "×")[0])
            row *= base
        return told(draw, way, ". ".join(line) + ".", row, a=base, b=k)
    if way == "percent":
        k, m = draw.any(((10, 10), (20, 5), (50, 2), (25, 4)))
        return told(draw, way, f"{k}% of {m * b} is {work(m * b, m, '/')[0]}.", b, p=draw.any((f"{k}%", f"{k} percent", f"{k} per cent", f"{k} %")), a=m * b)
    if way == "several":
        way = "sum_of"
        some = [a, b, c, d][: draw.any((3, 4))]
        steps = [work(sum(some[:n]), some[n], "+")[0] for n in range(1, len(some))]
        return told(draw, way, ". Then ".join(steps) + ".", sum(some), x=", ".join(map(str, some[:-1])) + f" and {some[-1]}")
    sign, name = draw.any((("+", "plus"), ("-", "minus"), ("×", "times")))
    a, b = max(a % 20, c), min(a % 20, c)
    line, result = work(a, b, sign)
    return told(draw, way, f"{line}.", result, x=f"{spelled(a)} {name} {spelled(b)}")
