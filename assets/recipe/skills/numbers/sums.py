"""Arithmetic with small numbers, worked digit by digit: two of them, several, and sums by their names."""

from __future__ import annotations

from collections.abc import Mapping

from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import plain, work, worked, worked_division, worked_ratio
from assets.recipe.skills.numbers.facts import facts
from assets.recipe.user_words import calculated, enumerated, some_word, spoken
from assets.recipe.words import entries, pairs, read_wording, spelled, weighted

_WORDING = read_wording("numbers/sums")
_NAMES = {"+": "add", "-": "subtract", "×": "multiply", "/": "divide"}
_TYPED = {"+": ("+", "+", "+", "plus"), "-": ("-", "-", "−", "–", "minus"), "×": ("×", "x", "*", "·", "times"),
          "/": ("/", "/", ":", "÷", "divided by")}  # fmt: skip
_PARTS = {"3": "thirds", "4": "quarters", "5": "fifths", "8": "eighths", "10": "tenths"}
_SHAPES = ("++", "+++", "++++", "--", "--", "---", "×+", "×-", "+×", "××")
_JOINS = (", ", ", ", " ", " and ", "; ", " / ", "\n", "+", " + ", " plus ")
_NAMED = weighted(_WORDING, "ways named")
_FRACTIONS, _POINTED = pairs(_WORDING, "fractions"), entries(_WORDING, "divisors")


def operands(draw: Draw, sign: str) -> tuple[int, int]:
    """Two numbers that suit the sign: few negative results, nothing left in divisions."""
    if sign == "+":
        top = draw.any((20, *[99] * 4, 999, 999, 999, 9999, 99_999))
        a, b = draw.numbers((1, top), (1, draw.any((*[top] * 7, 9))))
        # Now and then the sum is round.
        return a, b + (-a - b) % 10 ** (len(str(b)) - draw.whole(0, 1)) if draw.chance(0.1) else b
    if sign == "-":
        top = draw.any((20, 99, 99, 999, 999, 9999))
        a, b = draw.numbers((1, top), (1, top))
        a = draw.any((*[a] * 8, *[10 ** len(str(max(a, b)))] * 2, 10 ** draw.whole(4, 6)))
        return (max(a, b), min(a, b)) if a + b > 60 or draw.chance(0.8) else (min(a, b), max(a, b))
    if sign == "×":
        a, b = draw.numbers((2, draw.any((12, 12, 99, 99, 999))), (2, draw.any((12, 12, 12, 40, 99))))
        a = a if b < 13 else a % 90 + 2
        if draw.chance(0.15):
            a, b = draw.any(((a * 10, b), (a * 100, b % 11 + 2), (a % 90 * 100 + 120, b % 90 + 2)))
        return (a, b) if b > 9 or draw.chance(0.7) else (b, a)
    if draw.chance(0.25):
        b, quotient = draw.any((12, 14, 15, 16, 18, 20, 24, 25, 30, 32, 40, 50)), draw.numbers((2, 300))[0]
        return b * quotient, b
    quotients = draw.any((12, 12, 25, 60, 300, 1200))
    b, quotient = draw.numbers((2, 16 if quotients < 25 else 12 if quotients < 60 else 9), (2, quotients))
    return b * quotient, b


def _answer(a: int, b: int, sign: str, ask: str, follow_up: bool = False) -> Exchange:
    line, result = work(a, b, sign)
    return Exchange(ask, f"{line}.", ends_with_numbers(result), follow_up)


def _checked(draw: Draw, a: int, b: int, sign: str) -> Exchange:
    """A sum checked against what the user says it comes to, or what two people say, worked first."""
    line, result = work(a, b, sign)
    wrong, way = abs(result + draw.any((-10, -2, -1, 1, 2, 10, 100))), draw.any(("check", "check", "disputed"))
    said, other = draw.rng.sample((result, wrong), 2)
    ask = draw.asked(_WORDING, way, x=_typed(draw, [a, b], [sign]), c=said, d=other)
    told = "" if way == "disputed" else "yes, " if said == result else "no, "
    return Exchange(ask, f"{line}. So {told}it is {result}.", ends_with_numbers(result))


def _shown(draw: Draw, number: int) -> str:
    """The number as people type it: from a thousand on perhaps with a comma."""
    return f"{number:,}" if draw.chance(0.5) else str(number)


def _typed(draw: Draw, numbers: list[int], signs: list[str]) -> str:
    """The numbers and signs as people type them: with signs or words, with or without spaces."""
    in_words = draw.chance(0.14)
    way = in_words or draw.chance(0.33)
    names = [_TYPED[sign][-1] if way else draw.any(_TYPED[sign][:-1]) for sign in signs]
    shown = [spoken(draw, number) if in_words else _shown(draw, number) for number in numbers]
    space = "" if not way and draw.chance(0.4) else " "
    return shown[0] + "".join(f"{space}{name}{space}{number}" for name, number in zip(names, shown[1:], strict=True))


def _planned(draw: Draw, way: str, plan: str, found: Mapping[str, int], **said: object) -> list[Exchange]:
    line, result = worked(plan, found) or ("", 0)
    lead = said.pop("lead", "")
    return calculated(draw, _WORDING, way, f"{lead}{line}.", result, **(said or found))


def _several(draw: Draw) -> list[Exchange]:
    """A sum of several steps: a row of numbers, their sum, product or mean, brackets, a power."""
    ways = (*["row"] * 5, *["sum", "brackets", "told"] * 3, *["mean", "power"] * 2, "cubed", "product_of", "factorial")
    way = draw.any(ways)
    a, b, c, d = draw.numbers((2, 60), (2, 30), (2, 20), (2, 9))
    if way in ("row", "product_of"):
        mixed = draw.any("+-") * draw.any((1, 1, 2)) + "".join(draw.rng.sample("+-", 2))[: draw.whole(1, 2)]
        shape = "××" if way == "product_of" else mixed if draw.chance(0.4) else draw.any(_SHAPES)
        top = 12 if "×" in shape else draw.any((9, 20, 60, 60, 300))
        some = draw.numbers(*[(2, top)] * (len(shape) + 1))
        some = [some[0]] * len(shape) + some[-1:] if draw.chance(0.2) else some
        if "-" in shape and "×" not in shape:
            # The first is larger than what is taken away.
            some[0] += sum(n for sign, n in zip(shape, some[1:], strict=True) if sign == "-")
            some[0] = draw.any((some[0], some[0], 10 ** len(str(some[0])), -(-some[0] // 100) * 100))
        values = dict(zip("abcde", some, strict=False))
        plan = ", ".join(f"{'x' if at else 'a'}{sign}{'bcde'[at]}" for at, sign in enumerate(shape))
        plan = "b×c, a+x" if shape == "+×" else plan
        if not worked(plan, values):
            return _several(draw)
        told = draw.any((", ".join, enumerated))([*map(str, some)]) if way != "row" else _typed(draw, some, list(shape))
        signs = ("", *(f" {sign} " for sign in shape))
        lead = "".join(f"{sign}{n}" for sign, n in zip(signs, some, strict=True))
        return _planned(draw, way, plan, values, x=told, lead=f"{lead}: ")
    if way == "factorial":
        last = draw.whole(3, 7)
        plan = "a×2" + "".join(f", x×{more}" for more in range(3, last + 1))
        return _planned(draw, way, plan, {"a": 1}, x=last, f=f"{last}!")
    if way in ("sum", "mean"):
        some = [a, b, c, d, a + c, b + d][: draw.any((2, 2, 2, 3, 3, 4, 4, 5, 6))]
        some = [*some[:-1], *draw.any(([b], [b] * 2, [a, b]))] if draw.chance(0.25) else some
        some = [draw.any((n, 10 * n, 100 * n, 17 * n)) for n in some] if draw.chance(0.4) else some
        some[-1] += -sum(some) % len(some) if way == "mean" else 0
        plan = "a+b" + "".join(f", x+{more}" for more in some[2:]) + (f", x/{len(some)}" if way == "mean" else "")
        shown = [_shown(draw, n) if draw.chance(0.2) else str(n) for n in some]
        if draw.chance(0.25):
            label = draw.any(_WORDING["labelled"])
            shown = [draw.say((label,), n=n, w=some_word(draw)) for n in shown]
        listed = enumerated(shown)
        told = draw.any((draw.any(_JOINS).join(shown), listed, ", ".join(shown), listed.replace(", ", " ")))
        lead = f"Numbers: {', '.join(map(str, some))}. " if len(some) > 2 else ""
        return _planned(draw, way, plan, {"a": some[0], "b": some[1]}, x=told, lead=lead)
    if way in ("brackets", "told"):
        a, b, c = draw.numbers((2, 20), (2, 12), (2, 12))
        values = {"a": a, "b": b, "c": c, "h": max(a, b) + 1, "l": min(a, b), "s": a * b + c, "r": a + b + c}
        values |= {"p": b * c, "v": b * c + a, "w": a * b - min(a, b)}
        pattern, _, plan = draw.any(_WORDING[way]).rpartition(": ")
        if way == "told":
            line, result = worked(plan, values) or ("", 0)
            return [Exchange(draw.ask([draw.expand(pattern)], **values), f"{line}.", ends_with_numbers(result))]
        x = pattern.format(**values, t=draw.any(("*", "×", "x", "*")))
        lead = f"{' '.join(pattern.replace('{t}', ' × ').split()).format(**values)}: "
        return _planned(draw, "paren", plan, values, x=x.replace(" ", "") if draw.chance(0.3) else x, lead=lead)
    base, k = draw.any((*[(2, draw.whole(3, 10))] * 2, (3, 4), (10, draw.whole(3, 4)), (5, 3)))
    base, k = (c % 9 + 2, 3) if way == "cubed" or draw.chance(0.2) else (base, k)
    lines = [f"{n}: {work(base ** (n - 1), base, '×')[0]}" for n in range(2, k + 1)]
    return calculated(draw, _WORDING, way, f"{'. '.join(lines)}.", base**k, a=base, b=k)


def _named(draw: Draw) -> list[Exchange]:
    """A sum by its name: difference, product, half, a third, a percentage, what is missing, what remains."""
    way = draw.any(_NAMED)
    a, b, k = draw.numbers((2, 99), (2, draw.any((20, 99))), (2, 12))
    if way == "decimal" or (way == "half" and draw.chance(0.2)) or (way == "divide" and k in (2, 4, 5, 10)):
        k = 2 if way == "half" else int(draw.any(_POINTED)) if way == "decimal" else k
        a = 2 * a + 1 if way == "half" else draw.any((a % k or 1, a, a + k, a + k, a + b % 9 * k))
        return calculated(draw, _WORDING, way, f"{worked_ratio(a, k)}.", a / k, a=a, b=k)
    if way in ("remainder", "divide", "modulo"):
        whole, left = draw.whole(1, draw.any((9, 9, 15, 40))), draw.whole(1, k - 1)
        ask = draw.asked(_WORDING, way, a=k * whole + left, b=k)
        if way != "modulo":
            return [Exchange(ask, worked_division(k * whole + left, k) + ".", ends_with_numbers(whole, left))]
        line = f"{work(whole, k, '×')[0]}. {work(whole * k + left, whole * k, '-')[0]}."
        return [Exchange(ask, line, ends_with_numbers(left))]
    if way == "root":
        return calculated(draw, _WORDING, way, f"{k} × {k} = {k * k}. So {k}.", k, a=k * k)
    if way == "part":
        (name, told), plan, b = draw.any(_FRACTIONS), "a/b", draw.any((b, b, b, 10 * b))
        if draw.chance(0.5):
            told = draw.any(tuple(_PARTS))
            times = draw.whole(2, int(told) - 1)
            name, plan = draw.any((f"{times}/{told}", f"{spelled(times)} {_PARTS[told]}")), f"a/b, x×{times}"
        of = int(told)
        return _planned(draw, way, plan, {"a": of * b, "b": of}, x=name, a=_shown(draw, of * b))
    large = draw.any((a % 50 + 2, a + b, a * k))
    plans = {
        "difference": ("a-b", max(a, b) + 1, min(a, b)), "missing": ("b-a", a, a + b), "half": ("a/2", 2 * large, 0),
        "missing_from": ("a+b", a, b), "missing_times": ("b/a", k, a * k), "squared": ("a×a", a % 19 + 2, 0),
        "double": ("a×2", large, 0), "triple": ("a×3", a % 50 + 2, 0),
    }  # fmt: skip
    plan, first, second = plans[way]
    return _planned(draw, way, plan, {"a": first, "b": second})


def _beyond(draw: Draw) -> list[Exchange]:
    """A sum below zero, or with a point."""
    way = draw.any(("negative", "negative", *["below"] * 4, *["point"] * 4))
    (a, b), k, n = draw.numbers((1, 60), (1, 30)), draw.whole(2, 12), draw.whole(2, 12)
    small, large, sign = min(a, b), max(a, b) + 1, ""
    if way == "below":
        ask = draw.asked(_WORDING, draw.any(("subtract", "subtract", "colder")), a=small, b=large)
        return [_answer(small, large, "-", ask)]
    if way == "negative":
        x, line, result = draw.any((
            (f"-{small} + {large}", f"{large} - {small}", str(large - small)),
            (f"-{large} + {small}", f"-({large} - {small})", str(small - large)),
            (f"-{k} {draw.any('*×x')} {n}", f"-({k} × {n})", str(-k * n)),
            (f"-{k} * -{n}", f"{k} × {n}", str(k * n)),
            (f"-{small} - {large}", f"-({small} + {large})", str(-small - large)),
        ))  # fmt: skip
        line = f"{x} = {line} = {result}."
        if draw.chance(0.3):
            x = x.replace(" + ", " plus ").replace(" - ", " minus ").replace("-", "minus ").replace("*", "times")
        if " + " in x and draw.chance(0.4):
            below, more = x[1:].split(" + ")
            return calculated(draw, _WORDING, "warmer", line, float(result), a=below, b=more)
    else:
        # In tenths or hundredths, which are whole numbers: as many as make tenths, quarters, or a whole beside them.
        scale, way = draw.any(((10, "tenths"), (100, "hundredths"), (100, "hundredths")))
        a, b = (n * draw.any((1, 10) if scale == 10 else (1, 5, 10, 25, 100)) for n in (a, b))
        a += scale // 2 if a % scale == b % scale == 0 or a == b else 0
        sign = draw.any("×/") if scale == 10 and draw.chance(0.4) else draw.any("+-")
        a, b = (max(a, b), min(a, b)) if sign == "-" else (a, b)
        a, b = (a * k if sign == "/" else a, k) if sign in "×/" else (a, b)
        first, second = (f"{n / scale:.{len(str(scale)) - 1}f}" for n in (a, b))
        second = str(b) if sign in "×/" else second
        shown = (plain(a / scale), plain(float(second))) if draw.chance(0.6) else (first, second)
        x = draw.any((" ", " ", "")).join((shown[0], draw.any(_TYPED[sign][:-1]), shown[1]))
        steps, whole = work(a, b, sign)
        line, result = f"{first} {sign} {second}. In {way}: {steps}. So {plain(whole / scale)}.", plain(whole / scale)
        if draw.chance(0.35):
            return calculated(draw, _WORDING, _NAMES[sign], line, float(result), a=shown[0], b=shown[1])
    return calculated(draw, _WORDING, "row", line, float(result), x=x)


def _in_hundredths(draw: Draw, way: str, told: str, line: str, result: int, **said: object) -> list[Exchange]:
    """A sum of amounts with a point, told and then worked in hundredths."""
    answer = plain(result / 100)
    reply = f"{told}In hundredths: {line}. So {answer}."
    return calculated(draw, _WORDING, way, reply, float(answer), **said)


def _prices(draw: Draw) -> list[Exchange]:
    """A sum of amounts of money, in hundredths."""
    some = [draw.any((n, 5 * n, 10 * n, 25 * n, 50 * n, 100 * n, 100 * (n % 60 + 1) - draw.any((1, 1, 5))))
            for n in draw.numbers(*[(2, 300)] * draw.any((2, 2, 3, 3, 4)))]  # fmt: skip
    some[0] += 50 if all(n % 100 == 0 for n in some) else 0
    line, result = worked("a+b, x+c, x+d"[: len(some) * 5 - 7], dict(zip("abcd", some, strict=False))) or ("", 0)
    padded = [f"{n / 100:.2f}" for n in some]
    shown = [plain(n / 100) if draw.chance(0.4) else text for n, text in zip(some, padded, strict=True)]
    x = draw.any((", ".join, enumerated, " + ".join))(shown)
    line = f"{', '.join(map(str, some))}. {line}" if len(some) > 2 else line
    return _in_hundredths(draw, "sum", f"{' + '.join(padded)}. ", line, result, x=x)


def _each(draw: Draw) -> list[Exchange]:
    """So many things of one price with a point, or the equal parts of such an amount."""
    count, price = draw.whole(2, 12), draw.any((5, 10, 25, 50)) * draw.whole(3, 80)
    price += 50 if price % 100 == 0 else 0
    way = draw.any(("price_each", "price_each", "price_shared" if price * count % 100 else "price_each"))
    amount, sign = (price, "×") if way == "price_each" else (price * count, "/")
    told = f"{amount / 100:.2f}"
    line, result = work(amount, count, sign)
    said = {"a": plain(amount / 100) if draw.chance(0.3) else told, "k": draw.any((count, spelled(count)))}
    return _in_hundredths(draw, way, f"{told} {sign} {count}. ", line, result, **said)


def _change(draw: Draw) -> list[Exchange]:
    """The change given back for a note."""
    note = draw.any((5, 10, 10, 20, 20, 50, 100))
    price = draw.any((1, 5, 10, 25, 50)) * draw.whole(1, 20 * note)
    price = price % (note * 100 - 50) + draw.any((10, 25, 40))
    line, result = work(note * 100, price, "-")
    paid = f"{price / 100:.2f}" if price % 100 else price // 100
    return _in_hundredths(draw, "change", f"{note}.00 - {price / 100:.2f}. ", line, result, a=note, b=paid)


_WAYS = (*[_several, _named] * 10, *[_beyond] * 5, *[facts] * 4, *[_prices] * 3, *[_each] * 2, _change)


def _second(draw: Draw, a: int, sign: str) -> int | None:
    """A second number that suits the first and the sign, if there is one."""
    if sign == "/":
        return draw.any([n for n in range(2, 13) if a % n == 0 and n < a] or [None])
    return draw.numbers((a, a), (2, {"×": 12, "+": 99, "-": max(2, min(a, 99))}[sign]))[1]


def compose(draw: Draw) -> list[Exchange]:
    """A sum, and perhaps what comes of changing or continuing it."""
    if draw.chance(0.6):
        return draw.any(_WAYS)(draw)
    sign = draw.any(("+", "+", "-", "-", "×", "×", "/", "/"))
    a, b = operands(draw, sign)
    if draw.chance(0.12):
        return [_checked(draw, a, b, sign)]
    if draw.chance(0.25):
        typed = {name: _typed(draw, [a, b], [sign]) for name in "xz"}
        ask = draw.asked(_WORDING, draw.any(("row", "row", "row", "twice")), **typed)
    else:
        told = [spoken(draw, n) if draw.chance(0.06) else _shown(draw, n) for n in (a, b)]
        ask = draw.asked(_WORDING, _NAMES[sign], a=told[0], b=told[1])
    exchanges, result = [_answer(a, b, sign, ask)], work(a, b, sign)[1]
    turn = draw.rng.random()
    if turn < 0.3 and result > 1:  # something is to be done with the result
        sign = draw.any(("+", "-", "×", "/") if 10 < result < 100 else ("+", "-"))
        a, way = result, f"again_{_NAMES[sign]}"
    elif turn < 0.5:
        # The same sum with another second number.
        way = "with"
    else:
        return exchanges
    n = _second(draw, a, sign)
    return [*exchanges, _answer(a, n, sign, draw.ask(_WORDING[way], n=n), True)] if n else exchanges
