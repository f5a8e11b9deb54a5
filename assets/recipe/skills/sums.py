"""Plain arithmetic with small numbers, worked digit by digit."""

from __future__ import annotations

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("sums")
_NAMES = {"+": "add", "-": "subtract", "×": "multiply", "/": "divide"}
_TYPED = {"+": ("+", "plus"), "-": ("-", "minus"), "×": ("×", "x", "*", "times"), "/": ("/", "divided by")}
_TENS = (10, 100, 1000)
# A word that stands for a sign and a number of its own.
_FIXED = {"double": ("×", 2), "triple": ("×", 3), "half": ("/", 2), "quarter": ("/", 4)}


def places(number: int) -> list[int]:
    """The number as its non-zero decimal parts: 345 is 300, 40 and 5."""
    digits = str(number)
    parts = [int(digit) * 10 ** (len(digits) - 1 - at) for at, digit in enumerate(digits)]
    return [part for part in parts if part] or [0]


def worked_sum(a: int, b: int, sign: str) -> str:
    """Addition or subtraction, one decimal part of b at a time."""
    step = 1 if sign == "+" else -1
    parts = places(b)
    chain = [f"{a} {sign} {b}"] if len(parts) > 1 else []
    so_far = a
    for at in range(len(parts)):
        chain.append(f"{so_far} {sign} " + f" {sign} ".join(str(part) for part in parts[at:]))
        so_far += step * parts[at]
    return " = ".join([*chain, str(so_far)])


def worked_product(a: int, b: int) -> str:
    """Multiplication, the factor of more digits split into its decimal parts."""
    if b > 12 and len(places(a)) == 1:
        split, products = [f"{a} × {part}" for part in places(b)], [a * part for part in places(b)]
    else:
        split, products = [f"{part} × {b}" for part in places(a)], [part * b for part in places(a)]
    if len(products) == 1 or a in _TENS or b in (1, *_TENS):
        return f"{a} × {b} = {a * b}"
    chain = [f"{a} × {b}", " + ".join(split)]
    while len(products) > 1:
        first, second, *rest = products
        carries = first // 100 != (first + second) // 100
        if carries and not rest and len(places(second)) > 1:
            return " = ".join([*chain, worked_sum(first, second, "+")])
        chain.append(" + ".join(map(str, products)))
        products = [first + second, *rest]
    return " = ".join([*chain, str(products[0])])


def worked_quotient(a: int, b: int) -> str:
    """Division with nothing left, a split so that each part gives one digit of the result."""
    parts = places(a // b)
    if len(parts) == 1 or b in (1, *_TENS):
        return f"{a} / {b} = {a // b}"
    split = " + ".join(f"{part * b} / {b}" for part in parts)
    return f"{a} / {b} = {split} = {' + '.join(map(str, parts))} = {a // b}"


def worked_division(a: int, b: int) -> str:
    """Division with a remainder: the tens first, as in a division that leaves nothing."""
    whole, left = divmod(a, b)
    tens, ones = whole // 10 * 10, whole % 10
    end = f" remainder {left}"
    if not tens:
        return f"{a} / {b} = {ones * b} / {b}{end} = {ones}{end}"
    rest = a - tens * b
    start = f"{a} / {b} = {tens * b} / {b} + {rest} / {b} = {tens}"
    return f"{start} + {ones * b} / {b}{end} = {tens} + {ones}{end} = {whole}{end}"


def work(a: int, b: int, sign: str) -> tuple[str, int]:
    """The worked line and its result."""
    if sign == "-" and 0 <= a < b:
        return f"{worked_sum(b, a, '-')}, so {a} - {b} = {a - b}", a - b
    if sign in "+-":
        return worked_sum(a, b, sign), a + b if sign == "+" else a - b
    if sign == "×":
        return worked_product(a, b), a * b
    return worked_quotient(a, b), a // b


def operands(draw: Draw, sign: str) -> tuple[int, int]:
    """Two numbers that suit the sign: few negative results, nothing left in divisions."""
    if sign == "+":
        top = draw.any((20, 99, 99, 99, 999))
        a, b = draw.numbers((1, top), (1, top))
        return a, b
    if sign == "-":
        top = draw.any((20, 99, 99, 999))
        a, b = draw.numbers((1, top), (1, top))
        return (max(a, b), min(a, b)) if a + b > 60 or draw.chance(0.8) else (min(a, b), max(a, b))
    if sign == "×":
        a, b = draw.numbers((2, draw.any((12, 12, 99))), (2, 12))
        return (a, b) if a >= b or draw.chance(0.5) or b > 10 else (b, a)
    quotients = draw.any((12, 12, 25, 60))
    b, quotient = draw.numbers((2, 12 if quotients < 60 else 9), (2, quotients))
    return b * quotient, b


def _answer(a: int, b: int, sign: str, ask: str, follow_up: bool = False) -> Exchange:
    line, result = work(a, b, sign)
    return Exchange(ask, f"{line}.", ends_with_numbers(result), follow_up)


def _typed(draw: Draw, numbers: list[int], signs: list[str], in_words: bool = False) -> str:
    """The numbers and signs as people type them: with signs or words, with or without spaces."""
    way = draw.whole(0, 1)
    names = [_TYPED[sign][-1] if way or in_words else draw.any(_TYPED[sign][:-1]) for sign in signs]
    shown = [spelled(number) if in_words else str(number) for number in numbers]
    space = "" if not (way or in_words) and draw.chance(0.25) else " "
    return shown[0] + "".join(f"{space}{name}{space}{number}" for name, number in zip(names, shown[1:], strict=True))


def _row(draw: Draw) -> list[Exchange]:
    """Three numbers with two signs between them, products first."""
    shape = draw.any(("++", "+-", "--", "-+", "×+", "×-", "+×"))
    a, b, c = draw.numbers(*[(2, 12) if "×" in shape else (2, 60)] * 3)
    if shape == "+×":
        steps = [(b, c, "×"), (a, b * c, "+")]
    else:
        between = work(a, b, shape[0])[1]
        if between < 0 or (shape[1] == "-" and between < c):
            return _row(draw)
        steps = [(a, b, shape[0]), (between, c, shape[1])]
    (first, _), (last, result) = (work(*step) for step in steps)
    ask = draw.asked(_WORDING, "row", x=_typed(draw, [a, b, c], list(shape)))
    return [Exchange(ask, f"{first}. Then {last}.", ends_with_numbers(result))]


def _with_remainder(draw: Draw) -> list[Exchange]:
    b, whole, left = draw.numbers((2, 10), (1, draw.any((9, 9, 15))), (1, 9))
    a = b * whole + 1 + left % (b - 1)
    name = draw.any(("divide", "remainder"))
    ask = draw.asked(_WORDING, name, a=a, b=b)
    return [Exchange(ask, worked_division(a, b) + ".", ends_with_numbers(a // b, a % b))]


def _fixed(draw: Draw) -> list[Exchange]:
    """Doubling, halving and the like."""
    name = draw.any((*_FIXED, "squared"))
    if name == "squared":
        (a,) = draw.numbers((2, draw.any((12, 12, 20))))
        return [_answer(a, a, "×", draw.asked(_WORDING, name, a=a))]
    sign, b = _FIXED[name]
    _, n = draw.numbers((b, b), (2, draw.any((12, 50))))
    a = n * b if sign == "/" else n
    return [_answer(a, b, sign, draw.asked(_WORDING, name, a=a))]


def _in_words(draw: Draw) -> list[Exchange]:
    """A sum of small numbers, written in words."""
    sign = draw.any(("+", "-", "×"))
    a, b = draw.numbers((2, 19 if sign != "×" else 10), (2, 12 if sign != "×" else 10))
    a, b = (max(a, b), min(a, b)) if sign == "-" else (a, b)
    typed = _typed(draw, [a, b], [sign], in_words=True)
    return [_answer(a, b, sign, draw.asked(_WORDING, "row", x=typed))]


def _second(draw: Draw, a: int, sign: str) -> int | None:
    """A second number that suits the first and the sign, if there is one."""
    if sign == "/":
        divisors = [n for n in range(2, 13) if a % n == 0 and n < a]
        return draw.any(divisors) if divisors else None
    return draw.numbers((a, a), (2, {"×": 12, "+": 99, "-": max(2, min(a, 99))}[sign]))[1]


def compose(draw: Draw) -> list[Exchange]:
    """A sum, and perhaps what comes of changing or continuing it."""
    turn = draw.rng.random()
    for share, special in ((0.09, _row), (0.15, _with_remainder), (0.21, _fixed), (0.24, _in_words)):
        if turn < share:
            return special(draw)
    sign = draw.any(("+", "+", "-", "-", "×", "×", "/", "/"))
    a, b = operands(draw, sign)
    if draw.chance(0.12):
        ask = draw.asked(_WORDING, "row", x=_typed(draw, [a, b], [sign]))
    else:
        name = _NAMES[sign]
        ask = draw.asked(_WORDING, name, a=a, b=b)
    exchanges, result = [_answer(a, b, sign, ask)], work(a, b, sign)[1]
    turn = draw.rng.random()
    if turn < 0.3 and result > 1:
        # What is to be done with the result.
        sign = draw.any(("+", "-", "×", "/") if 10 < result < 100 else ("+", "-"))
        a, way = result, f"again_{_NAMES[sign]}"
    elif turn < 0.5:
        # The same sum with another second number.
        way = "with"
    else:
        return exchanges
    n = _second(draw, a, sign)
    return [*exchanges, _answer(a, n, sign, draw.ask(_WORDING[way], n=n), True)] if n else exchanges
