"""Plain arithmetic with small numbers, worked digit by digit."""

from __future__ import annotations

from assets.recipe.checks import ends_with_number
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("sums")
_NAMES = {"+": "add", "-": "subtract", "×": "multiply", "/": "divide"}


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
    """Multiplication, the first factor split into its decimal parts."""
    parts = places(a)
    if len(parts) == 1 or b in (0, 1):
        return f"{a} × {b} = {a * b}"
    split = " + ".join(f"{part} × {b}" for part in parts)
    products = [part * b for part in parts]
    chain = [f"{a} × {b}", split, " + ".join(map(str, products))]
    so_far = products[0]
    for at in range(1, len(products)):
        so_far += products[at]
        rest = products[at + 1 :]
        chain.append(" + ".join(map(str, [so_far, *rest])))
    return " = ".join(chain)


def worked_quotient(a: int, b: int) -> str:
    """Division with nothing left, checked by its product."""
    return f"{a} / {b} = {a // b}, because {worked_product(a // b, b)}, so {a} / {b} = {a // b}"


def worked_division(a: int, b: int) -> str:
    """Division with a remainder."""
    whole, left = divmod(a, b)
    steps = f"{worked_product(whole, b)} and {a} - {whole * b} = {left}"
    return f"{steps}, so {a} / {b} = {whole} remainder {left}"


def work(a: int, b: int, sign: str) -> tuple[str, int]:
    """The worked line and its result."""
    if sign == "-" and 0 <= a < b:
        return f"{a} - {b} = -({worked_sum(b, a, '-')}) = {a - b}", a - b
    if sign in "+-":
        return worked_sum(a, b, sign), a + b if sign == "+" else a - b
    if sign == "×":
        return worked_product(a, b), a * b
    return worked_quotient(a, b), a // b


def operands(draw: Draw, sign: str) -> tuple[int, int]:
    """Two numbers that suit the sign: no negative results, nothing left in divisions."""
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
    b, quotient = draw.numbers((2, 12), (2, draw.any((12, 12, 25))))
    return b * quotient, b


def _answer(draw: Draw, a: int, b: int, sign: str, ask: str, follow_up: bool = False) -> Exchange:
    line, result = work(a, b, sign)
    return Exchange(ask, draw.say(_WORDING["replies"], work=line, result=result), ends_with_number(result), follow_up)


def _row(draw: Draw) -> list[Exchange]:
    """Three numbers added and subtracted in a row."""
    a, b, c = draw.numbers((10, 60), (1, 40), (1, 40))
    second = draw.any(("+", "-")) if c <= a + b else "+"
    line, so_far = work(a, b, "+")
    last, result = work(so_far, c, second)
    reply = f"{line}. Then {last}."
    ask = draw.ask(_WORDING["row"], x=f"{a} + {b} {second} {c}")
    return [Exchange(ask, reply, ends_with_number(result))]


def _with_remainder(draw: Draw) -> list[Exchange]:
    b, whole, left = draw.numbers((2, 12), (1, 12), (1, 11))
    a = b * whole + 1 + left % (b - 1)
    ask = draw.ask(_WORDING["divide"], a=a, b=b)
    return [Exchange(ask, worked_division(a, b) + ".", ends_with_number(a % b))]


def compose(draw: Draw) -> list[Exchange]:
    """A sum, and perhaps what comes of changing or continuing it."""
    turn = draw.rng.random()
    if turn < 0.12:
        return _row(draw) if turn < 0.07 else _with_remainder(draw)
    sign = draw.any(("+", "+", "-", "-", "×", "×", "/"))
    a, b = operands(draw, sign)
    exchanges = [_answer(draw, a, b, sign, draw.ask(_WORDING[_NAMES[sign]], a=a, b=b))]
    result = work(a, b, sign)[1]
    if draw.chance(0.25) and result >= 0:
        following = draw.any(("+", "-", "×") if 10 < result < 100 else ("+",))
        (n,) = draw.numbers((2, 9) if following == "×" else (1, max(2, min(99, result))))
        ask = draw.ask(_WORDING[f"again_{_NAMES[following]}"], n=n)
        exchanges.append(_answer(draw, result, n, following, ask, True))
    elif draw.chance(0.25) and sign in "+×":
        (n,) = draw.numbers((2, 12) if sign == "×" else (2, 99))
        exchanges.append(_answer(draw, a, n, sign, draw.ask(_WORDING["with"], n=n), True))
    return exchanges
