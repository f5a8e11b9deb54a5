"""Arithmetic with small numbers, worked digit by digit: two of them, several, and sums by their names."""

from __future__ import annotations

from collections.abc import Mapping

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.user_words import enumerated
from assets.recipe.user_words import worked as worked_out
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("sums")
_NAMES = {"+": "add", "-": "subtract", "×": "multiply", "/": "divide"}
_TYPED = {"+": ("+", "plus"), "-": ("-", "minus"), "×": ("×", "x", "*", "times"), "/": ("/", "divided by")}
_TENS = (10, 100, 1000)
_PARTS = {"3": "thirds", "4": "quarters", "5": "fifths", "8": "eighths", "10": "tenths"}
_FRACTIONS = tuple(line.split("=") for line in _WORDING["fractions"][0].split(" / "))


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
    if b > 12 and len(places(b)) > 1 and len(places(a)) > 1:
        pairs = [(one, other) for one in places(a) for other in places(b)]
        split, products = [f"{one} × {other}" for one, other in pairs], [one * other for one, other in pairs]
    elif b > 12 and len(places(a)) == 1:
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
        top = draw.any((20, 99, 99, 99, 999, 999, 9999))
        a, b = draw.numbers((1, top), (1, top))
        return a, b
    if sign == "-":
        top = draw.any((20, 99, 99, 999, 999, 9999))
        a, b = draw.numbers((1, top), (1, top))
        a = draw.any((a, a, a, 10 ** len(str(max(a, b)))))
        return (max(a, b), min(a, b)) if a + b > 60 or draw.chance(0.8) else (min(a, b), max(a, b))
    if sign == "×":
        a, b = draw.numbers((2, draw.any((12, 12, 99, 99, 999))), (2, draw.any((12, 12, 12, 40, 99))))
        a = a if b < 13 else a % 90 + 2
        if draw.chance(0.15):
            a, b = draw.any(((a * 10, b), (a * 100, b % 11 + 2), (a % 90 * 10 + 120, b % 90 + 2)))
        return (a, b) if a >= b or draw.chance(0.5) or b > 10 else (b, a)
    quotients = draw.any((12, 12, 25, 60, 300, 1200))
    b, quotient = draw.numbers((2, 16 if quotients < 25 else 12 if quotients < 60 else 9), (2, quotients))
    return b * quotient, b


def _answer(a: int, b: int, sign: str, ask: str, follow_up: bool = False) -> Exchange:
    line, result = work(a, b, sign)
    return Exchange(ask, f"{line}.", ends_with_numbers(result), follow_up)


def _shown(draw: Draw, number: int) -> str:
    """The number as people type it: from a thousand on perhaps with a comma."""
    return f"{number:,}" if draw.chance(0.5) else str(number)


def _typed(draw: Draw, numbers: list[int], signs: list[str], in_words: bool = False) -> str:
    """The numbers and signs as people type them: with signs or words, with or without spaces."""
    way = draw.whole(0, 1)
    names = [_TYPED[sign][-1] if way or in_words else draw.any(_TYPED[sign][:-1]) for sign in signs]
    shown = [spelled(number) if in_words else _shown(draw, number) for number in numbers]
    space = "" if not (way or in_words) and draw.chance(0.25) else " "
    return shown[0] + "".join(f"{space}{name}{space}{number}" for name, number in zip(names, shown[1:], strict=True))


def worked(plan: str, found: Mapping[str, int]) -> tuple[str, int] | None:
    """The steps of a plan such as `a×b, c-x` (x is the result before, y the one before that) and what they come to.

    None if a step does not stay whole and above zero.
    """
    lines, x, y = [], 0, 0
    for step in plan.split(", "):
        values = {**found, "x": x, "y": y}
        one, other = values[step[0]], values[step[2:]] if step[2:] in values else int(step[2:])
        if other < 1 or (step[1] == "/" and one % other) or (step[1] == "-" and one - other < 1):
            return None
        line, result = work(one, other, step[1])
        lines.append(line)
        x, y = result, x
    return ". Then ".join(lines), x


def _planned(draw: Draw, way: str, plan: str, found: Mapping[str, int], **said: object) -> list[Exchange]:
    line, result = worked(plan, found) or ("", 0)
    listed = f"Numbers: {some}. " if (some := said.pop("listed", "")) else ""
    return [Exchange(draw.asked(_WORDING, way, **(said or found)), f"{listed}{line}.", ends_with_numbers(result))]


def _several(draw: Draw) -> list[Exchange]:
    """A sum of several steps: a row of numbers, their sum, product or mean, brackets, a power."""
    way = draw.any(("row", "row", "product_of", "sum", "sum", "mean", "brackets", "brackets", "brackets", "power"))
    a, b, c, d = draw.numbers((2, 60), (2, 30), (2, 20), (2, 9))
    if way in ("row", "product_of"):
        shape = draw.any(("++", "+-", "--", "-+", "×+", "×-", "+×", "××")) if way == "row" else "××"
        some = draw.numbers(*[(2, 12) if "×" in shape else (2, 60)] * 3)
        values = dict(zip("abc", some, strict=True))
        plan = "b×c, a+x" if shape == "+×" else f"a{shape[0]}b, x{shape[1]}c"
        if not worked(plan, values):
            return _several(draw)
        told = draw.any((", ".join, enumerated))([*map(str, some)]) if way != "row" else _typed(draw, some, list(shape))
        return _planned(draw, way, plan, values, x=told)
    if way in ("sum", "mean"):
        some = [a, b, c, d, a + c, b + d][: draw.any((2, 3, 3, 4, 5, 6))]
        if draw.chance(0.3):
            some = [draw.any((n, 10 * n, 100 * n, 17 * n)) for n in some]
        some[-1] += -sum(some) % len(some) if way == "mean" else 0
        plan = "a+b" + "".join(f", x+{more}" for more in some[2:]) + (f", x/{len(some)}" if way == "mean" else "")
        shown = [_shown(draw, n) if draw.chance(0.2) else str(n) for n in some]
        joints = (" + ", ", ", ", ", " ") if way == "sum" else (", ", " ")
        told = draw.any((draw.any(joints).join(shown), enumerated(shown), f"{' '.join(shown[:-1])} and {shown[-1]}"))
        listed = ", ".join(map(str, some)) if len(some) > 2 else ""
        return _planned(draw, way, plan, {"a": some[0], "b": some[1]}, x=told, listed=listed)
    if way == "brackets":
        a, b, c = draw.numbers((2, 20), (2, 12), (2, 12))
        values = {"a": a, "b": b, "c": c, "h": max(a, b) + 1, "l": min(a, b), "s": a * b + c, "r": a + b + c}
        typed, _, plan = draw.any(_WORDING["brackets"]).partition(": ")
        x = typed.format(**values, t=draw.any(("*", "×", "x", "*")))
        return _planned(draw, "paren", plan, values, x=x.replace(" ", "") if draw.chance(0.2) else x)
    base, k = draw.any(((2, draw.whole(3, 8)), (3, 4), (10, draw.whole(3, 4)), (5, 3), (c % 8 + 2, 3)))
    lines = [f"{n}: {work(base ** (n - 1), base, '×')[0]}" for n in range(2, k + 1)]
    return [Exchange(draw.asked(_WORDING, way, a=base, b=k), f"{'. '.join(lines)}.", ends_with_numbers(base**k))]


_NAMED = (*["from", "part", "missing", "remainder"] * 2, "difference", "product", "quotient", "squared", "double",
          "triple", "half", "divide", "modulo", "part", "part", "root", "cubed")  # fmt: skip


def _named(draw: Draw) -> list[Exchange]:
    """A sum by its name: difference, product, half, a third, a percentage, what is missing, what remains."""
    way = draw.any(_NAMED)
    a, b, k = draw.numbers((2, 99), (2, draw.any((20, 99))), (2, 12))
    if way in ("remainder", "divide", "modulo"):
        whole, left = draw.whole(1, draw.any((9, 9, 15))), draw.whole(1, k - 1)
        ask = draw.asked(_WORDING, way, a=k * whole + left, b=k)
        if way != "modulo":
            return [Exchange(ask, worked_division(k * whole + left, k) + ".", ends_with_numbers(whole, left))]
        line = f"{work(whole, k, '×')[0]}. {work(whole * k + left, whole * k, '-')[0]}."
        return [Exchange(ask, line, ends_with_numbers(left))]
    if way == "root":
        return [worked_out(draw.asked(_WORDING, way, a=k * k), f"{k} × {k} = {k * k}", str(k))]
    if way == "part":
        (name, told), plan = draw.any(_FRACTIONS), "a/b"
        if draw.chance(0.5):
            told = draw.any(tuple(_PARTS))
            times = draw.whole(2, int(told) - 1)
            name, plan = draw.any((f"{times}/{told}", f"{spelled(times)} {_PARTS[told]}")), f"a/b, x×{times}"
        of = int(told)
        return _planned(draw, way, plan, {"a": of * b, "b": of}, x=name, a=_shown(draw, of * b))
    large = draw.any((a % 50 + 2, a + b, a * k))
    plans = {
        "from": ("a-b", a + b, b), "difference": ("a-b", max(a, b) + 1, min(a, b)), "missing": ("b-a", a, a + b),
        "product": ("a×b", a, draw.whole(2, 12)), "quotient": ("a/b", a * k, k), "squared": ("a×a", a % 19 + 2, 0),
        "double": ("a×2", large, 0), "triple": ("a×3", a % 50 + 2, 0), "half": ("a/2", 2 * large, 0),
        "cubed": ("a×a, x×a", a % 9 + 2, 0),
    }  # fmt: skip
    plan, first, second = plans[way]
    return _planned(draw, way, plan, {"a": first, "b": second})


def _beyond(draw: Draw) -> list[Exchange]:
    """A sum in words, below zero, or with a point."""
    way, (a, b) = draw.any(("words", "below", "negative", "point", "point")), draw.numbers((2, 60), (2, 30))
    k, n = draw.whole(2, 12), draw.whole(2, 12)
    if way == "words":
        sign = draw.any(("+", "-", "×"))
        a, b = (max(a, b), min(a, b)) if sign != "×" else (a % 9 + 2, b % 9 + 2)
        return [_answer(a, b, sign, draw.asked(_WORDING, "row", x=_typed(draw, [a, b], [sign], in_words=True)))]
    small, large, sign = min(a, b), max(a, b) + 1, ""
    if way == "below":
        x = draw.any((f"{small} - {large}", f"{small} minus {large}", f"{small}-{large}", f"{small} take away {large}"))
        return [_answer(small, large, "-", draw.asked(_WORDING, "row", x=x))]
    if way == "negative":
        x, line, result = draw.any((
            (f"-{small} + {large}", f"{large} - {small}", str(large - small)),
            (f"-{large} + {small}", f"-({large} - {small})", str(small - large)),
            (f"-{k} {draw.any('*×x')} {n}", f"-({k} × {n})", str(-k * n)), (f"-{k} * -{n}", f"{k} × {n}", str(k * n)),
        ))  # fmt: skip
        line = f"{x} = {line} = {result}."
    else:
        # In tenths or hundredths, which are whole numbers: as many as make tenths, quarters, or a whole beside them.
        scale, way = draw.any(((10, "tenths"), (100, "hundredths"), (100, "hundredths")))
        a, b = (n * draw.any((1, 10) if scale == 10 else (1, 5, 10, 25, 100)) for n in (a, b))
        a += scale // 2 if a % scale == b % scale == 0 else 0
        sign = "-" if a > b and draw.chance(0.4) else "+"
        x = f"{plain(a / scale)} {sign} {plain(b / scale)}"
        x = f"{a / 100:.2f} {sign} {b / 100:.2f}" if scale == 100 and draw.chance(0.4) else x
        result = plain((a + b if sign == "+" else a - b) / scale)
        first, second = (f"{n / scale:.{len(str(scale)) - 1}f}" for n in (a, b))
        line = f"{first} {sign} {second}. In {way}: {work(a, b, sign)[0]}. So {result}."
    asks = "change" if sign == "-" and way == "hundredths" and draw.chance(0.4) else "row"
    ask = draw.asked(_WORDING, asks, x=x, a=plain(a / 100), b=f"{b / 100:.2f}")
    return [Exchange(ask, line, ends_with_numbers(float(result)))]


def plain(value: float) -> str:
    """The value without zeros at its end."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def _second(draw: Draw, a: int, sign: str) -> int | None:
    """A second number that suits the first and the sign, if there is one."""
    if sign == "/":
        divisors = [n for n in range(2, 13) if a % n == 0 and n < a]
        return draw.any(divisors) if divisors else None
    return draw.numbers((a, a), (2, {"×": 12, "+": 99, "-": max(2, min(a, 99))}[sign]))[1]


def compose(draw: Draw) -> list[Exchange]:
    """A sum, and perhaps what comes of changing or continuing it."""
    if draw.chance(0.6):
        return draw.any((_several, _several, _named, _named, _named, _beyond))(draw)
    sign = draw.any(("+", "+", "-", "-", "×", "×", "/", "/"))
    a, b = operands(draw, sign)
    if draw.chance(0.12):
        ask = draw.asked(_WORDING, "row", x=_typed(draw, [a, b], [sign]))
    else:
        told = [spelled(n) if a < 100 and b < 100 and draw.chance(0.08) else _shown(draw, n) for n in (a, b)]
        ask = draw.asked(_WORDING, _NAMES[sign], a=told[0], b=told[1])
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
