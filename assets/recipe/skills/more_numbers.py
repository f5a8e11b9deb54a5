"""More about numbers: rows of them, sums asked for otherwise, problems whose steps are no chain, halves of units."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from assets.recipe.conversation import Exchange, ends_with_numbers, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.more_words import SAID
from assets.recipe.skills.sums import work
from assets.recipe.skills.user_words import enumerated
from assets.recipe.skills.word_problems import fields
from assets.recipe.words import read_wording, spelled

_STEPS, _MEASURES = read_wording("steps"), read_wording("measures")
_PLURALS = ((2, "twos"), (3, "threes"), (4, "fours"), (5, "fives"), (6, "sixes"), (7, "sevens"), (10, "tens"),
            (10, "tens"), (20, "twenties"), (25, "twenty-fives"), (100, "hundreds"))  # fmt: skip
_UNITS = (("m", "cm", 100), ("km", "m", 1000), ("kg", "g", 1000), ("l", "ml", 1000), ("cm", "mm", 10),
          ("hours", "minutes", 60), ("meters", "centimeters", 100), ("kilometers", "meters", 1000),
          ("liters", "milliliters", 1000), ("minutes", "seconds", 60))  # fmt: skip
# Sums with brackets, and in which order they are worked: each step of two numbers, or of results before (x, y).
_BRACKETS = ("({a} + {b}) {t} {c}: a+b, x×c", "{c} {t} ({a} + {b}): a+b, c×x", "({h} - {l}) {t} {c}: h-l, x×c",
             "{a} + {b} {t} {c}: b×c, a+x", "{s} - {a} {t} {b}: a×b, s-x", "{r} - ({a} + {b}): a+b, r-x",
             "{a} {t} {b} - {l}: a×b, x-l", "{a} {t} {b} + {c}: a×b, x+c")  # fmt: skip
_COUNTS = (*["straight"] * 5, *["downward", "up_to", "between", "by_steps", "from_by", "first_of"] * 2, "launch",
           "below", "down_by", "first_odd", "starting_at")  # fmt: skip
_SUMS = (*["sum", "from"] * 2, *["paren"] * 3, "difference", "product", "quotient", "powers", "cubes")


def _row(draw: Draw, way: str) -> tuple[list[int], dict[str, object]]:
    """The numbers asked for in this way, and what the question tells."""
    s, w = draw.any(_PLURALS)
    a, length, k = draw.numbers((0, draw.any((3, 30, 100))), (3, draw.any((8, 20, 60, 90))), (3, 12))
    b, odd, told = a + length, draw.whole(0, 1), draw.any((k, spelled(k)))
    if way in ("up_to", "first_of"):
        s = draw.whole(2, 15)
    start = s * (k + odd) if way == "down_by" else draw.any((s, a, 0))
    kind, top = ("even", "odd")[odd], k + 8 * odd
    rows: dict[str, tuple[range, dict[str, object]]] = {
        "straight": (range(a, b + 1), {"a": a, "b": b}), "downward": (range(b, a - 1, -1), {"a": b, "b": a}),
        "launch": (range(top, 0, -1), {"a": top}),
        "between": (range(a + (a % 2 != odd), b + 1, 2), {"a": a, "b": b, "d": kind}),
        "below": (range(2 - odd, b, 2), {"b": b, "d": kind}),
        "up_to": (range(s, s * k + 1, s), {"s": s, "b": s * k}),
        "by_steps": (range(s, s * k + 1, s), {"s": s, "w": w, "b": s * k}),
        "from_by": (range(start, start + s * k + 1, s), {"a": start, "b": start + s * k, "s": s, "w": w}),
        "down_by": (range(start, start - s * k - 1, -s), {"a": start, "b": start - s * k, "s": s, "w": w}),
        "first_of": (range(s, s * k + 1, s), {"s": s, "k": told}),
        "first_odd": (range(2 - odd, 2 * k + 1, 2), {"k": told, "d": kind}),
        "starting_at": (range(a, a + k), {"d": told, "a": a}),
    }  # fmt: skip
    numbers, said = rows[way]
    return list(numbers), said


def counting(draw: Draw) -> list[Exchange]:
    """Numbers in a row, up, down or by steps."""
    way = draw.any(_COUNTS)
    values, said = _row(draw, way)
    reply = draw.any(("", "", "Here you go: ", "Sure: ")) + ", ".join(map(str, values)) + "."
    return [Exchange(draw.ask(SAID[way], **said), reply, number_list(values))]


def _worked(plan: str, found: dict[str, int]) -> tuple[str, int] | None:
    """The steps of a plan such as `a×b, c-x` and what they come to; None if one does not stay whole."""
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


def sums(draw: Draw) -> list[Exchange]:
    """A sum asked for otherwise, or with brackets."""
    way = draw.any(_SUMS)
    a, b, c = draw.numbers((2, 99), (2, draw.any((20, 99))), (2, 60))
    if way == "sum":
        some = [a, b, c, draw.whole(2, 50)][: draw.any((2, 3, 3, 4))]
        told = [str(number) for number in some]
        x = draw.any((" + ", ", ")).join(told) if draw.chance(0.6) else enumerated(told)
        return _sum(draw, way, "a+b" + "".join(f", x+{more}" for more in some[2:]), {"a": a, "b": b}, x=x)
    if way == "paren":
        a, b, c = draw.numbers((2, 20), (2, 12), (2, 12))
        values = {"a": a, "b": b, "c": c, "h": max(a, b) + 1, "l": min(a, b), "s": a * b + c, "r": a + b + c}
        typed, _, plan = draw.any(_BRACKETS).partition(": ")
        x = typed.format(**values, t=draw.any(("*", "×", "x", "*")))
        return _sum(draw, way, plan, values, x=x.replace(" ", "") if draw.chance(0.2) else x)
    if way in ("powers", "cubes"):
        a = draw.numbers((2, 20 if way == "powers" else 9), (1, 2))[0]
        return _sum(draw, way, "a×a" if way == "powers" else "a×a, x×a", {"a": a}, a=a)
    if way in ("product", "quotient"):
        b = draw.whole(2, draw.any((12, 12, 40)) if way == "product" else 12)
        a = a if way == "product" else a * b
        return _sum(draw, way, "a×b" if way == "product" else "a/b", {"a": a, "b": b}, a=a, b=b)
    a = max(a, b) + 1 if way == "difference" else draw.any((a + b, 100, 1000, 10 * a + b + 9, 500, 200))
    return _sum(draw, way, "a-b", {"a": a, "b": b}, a=a, b=b)


def _sum(draw: Draw, way: str, plan: str, found: dict[str, int], **said: object) -> list[Exchange]:
    line, result = _worked(plan, found) or ("", 0)
    return [Exchange(draw.ask(SAID[way], **said), f"{line}.", ends_with_numbers(result))]


def one_step(draw: Draw) -> list[Exchange]:
    """A problem of one step."""
    return _problem(draw, tuple(plan for plan in _STEPS if "," not in plan))


def steps(draw: Draw) -> list[Exchange]:
    """A problem whose steps are no chain."""
    return _problem(draw, tuple(plan for plan in _STEPS if "," in plan))


def _problem(draw: Draw, plans: tuple[str, ...]) -> list[Exchange]:
    plan = draw.any(plans)
    story, _, answer = draw.expand(draw.any(draw.side(_STEPS[plan]))).partition(" => ")
    while True:
        a, b, c, d = draw.numbers((2, draw.any((12, 40, 99))), (2, 12), (2, draw.any((12, 12, 60))), (2, 9))
        first = plan.split(", ")[0]
        a = draw.whole(2, 20) if first[1] == "×" else b * draw.whole(2, 20) if first == "a/b" else a
        c = draw.whole(20, 150) if plan.split(", ")[-1][0] == "c" else c
        if worked := _worked(plan, {"a": a, "b": b, "c": c, "d": d}):
            break
    given = fields(draw, story)
    verb, _, what = answer.format(**given).partition(" ")
    in_words = draw.chance(0.1)
    told = {name: spelled(n) if in_words and n < 13 else str(n) for name, n in zip("abcd", (a, b, c, d), strict=True)}
    if story.startswith("{a}"):
        told["a"] = told["a"].capitalize()
    ask = draw.ask([story], **given, **told)
    return [Exchange(ask, f"{worked[0]}. That {verb} {worked[1]} {what}.", ends_with_numbers(worked[1]))]


def measures(draw: Draw) -> list[Exchange]:
    """A quantity with a half in it, in a smaller unit."""
    big, small, factor = draw.any(_UNITS)
    number = draw.numbers((factor, factor), (1, 20))[1] + 0.5
    ask = draw.asked(_MEASURES, "convert", x=f"{number} {big}", to=small)
    one, result = big.removesuffix("s") if len(big) > 2 else big, int(number * factor)
    told = f"1 {one} = {factor} {small}. {number} × {factor} = {result} {small}."
    return [Exchange(ask, told, ends_with_numbers(result))]


def respelled(compose: Callable[[Draw], list[Exchange]]) -> Callable[[Draw], list[Exchange]]:
    """The questions and replies, half of the time with dollars, and with meters as Americans write them."""

    def composed(draw: Draw) -> list[Exchange]:
        exchanges, dollars, meters, sign = compose(draw), draw.chance(0.5), draw.chance(0.5), draw.chance(0.25)

        def changed(text: str) -> str:
            text = text.replace("euro", "dollar").replace("Euro", "Dollar") if dollars else text
            return text.replace("metre", "meter").replace("litre", "liter") if meters else text

        def short(ask: str) -> str:
            return re.sub(r"\b(\d+) (dollars|euros)\b", r"$\1" if dollars else r"€\1", ask) if sign else ask

        return [replace(one, ask=short(changed(one.ask)), reply=changed(one.reply)) for one in exchanges]

    return composed
