"""Counting up, down and by steps, times tables, even and odd numbers, what comes next; and carrying on from there."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from assets.recipe.conversation import Exchange, exact, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.patterns import continued, listing, totalled
from assets.recipe.skills.numbers.row_workings import worked_row
from assets.recipe.user_words import calculated, handed_back
from assets.recipe.words import ORDINALS, pairs, read_wording, spelled, weighted

_WORDING = read_wording("numbers/counting")
_PLURALS = {int(number): name for number, name in pairs(_WORDING, "plurals")}
_BIG_STEPS = (15, 20, 20, 25, 30, 40, 50, 100, 200, 250, 500)
_APART = {"lines": "\n", "spaces": " ", "commas": ", ", "dashes": " - ", "semicolons": "; ", "slashes": "/", "row": ""}
_FOLLOW_UPS = ("back", "back", "on", "more", "by", "only", "from")
_LONGEST_AGAIN = 25
_FIBONACCI = (0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)


def _fits(way: str, values: list[int], step: int) -> bool:
    """Return True if the follow-up makes sense after these values; a step of 0 stands for any other order."""
    if way == "back":
        return len(values) <= _LONGEST_AGAIN
    if way in ("by", "only", "from"):
        return step == 1 and 6 <= len(values) <= 40
    return step == 1 or (way == "more" and step > 1)


def _followed(draw: Draw, way: str, values: list[int], step: int) -> tuple[Exchange, list[int], int]:
    """The follow-up's exchange, what it lists, and the step of that."""
    fields: dict[str, object] = {}
    working = ""
    if way == "back":
        values, step = values[::-1], 0
    elif way in ("on", "more"):
        count = draw.whole(3, 12) if way == "on" else draw.whole(2, 8)
        values = [values[-1] + step * at for at in range(1, count + 1)]
        fields = {"c": values[-1], "k": draw.any((count, count, spelled(count)))}
        working = worked_row("more", values, fields) if way == "more" else ""
    elif way == "by":
        step = draw.any((2, 2, 2, 3, 5, 10)) if len(values) > 10 else 2
        values = values[::step]
        fields = {"s": step, "w": _PLURALS[step], "o": ORDINALS[step]}
    elif way == "only":
        odd = draw.whole(0, 1)
        values, step = [value for value in values if value % 2 == odd], 2
        fields = {"kind": "odd" if odd else "even"}
    else:
        start = draw.whole(values[0] + 1, values[-1] - 2)
        values = list(range(start, values[-1] + 1))
        fields = {"a": start}
    return listing(draw, values, draw.ask(_WORDING[way], **fields), True, working=working), values, step


def _row(draw: Draw, way: str) -> tuple[list[int], dict[str, object]]:
    """The numbers asked for in this way, and what the question tells."""
    most, longest = draw.any((3, 30, 100, 300, 3000, 9000)), draw.any((8, 8, 12, 20, 60))
    a, length, k = draw.numbers((0, most), (3, longest), (3, 12))
    b, odd, told = a + length, draw.whole(0, 1), draw.any((k, spelled(k)))
    kind, top, end = ("even", "odd")[odd], k + 8 * odd, k % 10
    low, high = a % 90, a % 90 + draw.whole(21, 45)
    c, many = draw.whole(a + 1, b - 1), [n for n in range(a, b + 1) if n % 2 == odd]
    primes = [n for n in _PRIMES if n < c % 60 + 4]
    rows: dict[str, tuple[Sequence[int], dict[str, object]]] = {
        "up": (range(a, b + 1), {"a": a, "b": b}), "down": (range(b, a - 1, -1), {"a": b, "b": a}),
        "either": (range(a, b + 1), {"a": a, "b": b, "c": spelled(a), "d": spelled(b)}),
        "either down": (range(b, a - 1, -1), {"a": b, "b": a, "c": spelled(b), "d": spelled(a)}),
        "inside": (range(a + 1, b), {"a": a, "b": b}), "below_end": (range(a, b), {"a": a, "b": b}),
        "without": ([n for n in range(a, b + 1) if n != c], {"a": a, "b": b, "c": c}),
        "to": (range(1, k * 3 + 1), {"b": k * 3}),
        "down_to_one": (range(top, 0, -1), {"a": top, "b": top}),
        "there_and_back": ([*range(1, top), *range(top, 0, -1)], {"b": top}),
        "even": (many, {"a": a, "b": b, "kind": kind}), "even_down": (many[::-1], {"a": b, "b": a, "kind": kind}),
        "even_to": (range(2 - odd, top * 2 - odd + 1, 2), {"b": top * 2 - odd + draw.whole(0, 1), "d": kind}),
        "below": (range(2 - odd, b % 60 + 6, 2), {"b": b % 60 + 6, "d": kind}),
        "first_odd": (range(2 - odd, 2 * k + 1, 2), {"k": told, "d": kind}),
        "next": (range(a + 1, a + k + 1), {"a": a, "k": told}),
        "starting_at": (range(a, a + k), {"d": told, "a": a}),
        "negative": (range(-k, k + 1 - odd), {"a": -k, "b": k - odd}),
        "negative down": (range(k - odd, -k - 1, -1), {"a": k - odd, "b": -k}),
        "ending": (range(low + (end - low) % 10, high + 1, 10), {"a": low, "b": high, "d": end}),
        "primes": (primes, {"b": c % 60 + 4, "after": _PRIMES[len(primes)]}),
        "even_inside": (many[many[0] == a : len(many) - (many[-1] == b)], {"a": a, "b": b, "kind": kind}),
        "squares_to": ([n * n for n in range(1, k + 1)], {"b": k * k + draw.whole(0, 2 * k)}),
        "down_k": (range(b, b - k, -1), {"a": b, "k": told}),
        "parity_next": (range(a + 1 + (a + 1 - odd) % 2, a + 2 * k + 1, 2), {"a": a, "d": kind, "k": told}),
        "those_before": (range(b, b + k), {"a": b + k, "k": told}),
        "squares": ([n * n for n in range(1, k + 1)], {"k": told}),
        "cubes": ([n**3 for n in range(1, k + 1)], {"k": told}),
        "first_primes": (_PRIMES[:k], {"k": told}), "fibonacci": (_FIBONACCI[: k + 3 * odd], {"k": k + 3 * odd}),
        "powers": ([2**n for n in range(k)], {"k": told, "b": 2 ** (k - 1)}),
        "halving": ([2**n for n in range(k, -1, -1)], {"b": 2**k}),
        "row of code short": (code := range(a * odd, b if odd else top),
                              {"x": f"range({a}, {b})" if odd else f"range({top})", "a": code.start, "b": code.stop}),
        "doubling": ([(a % 9 + 1) * 2**n for n in range(k)], {"a": a % 9 + 1, "k": told}),
    }  # fmt: skip
    numbers, said = rows[way] if way in rows else _stepped(draw, way, a, k)
    return list(numbers), said


def _stepped(draw: Draw, way: str, a: int, k: int) -> tuple[Sequence[int], dict[str, object]]:
    """The numbers of a row by steps, and what the question tells; now and then the end told is none of them."""
    name, falling = way.removesuffix(" down"), way.endswith("down") or way == "down_by"
    s = draw.any((*_PLURALS, 2, 2, 5, 5, 10, 10))
    if name in ("up_to", "multiples", "results", "multiples_below", "step", "either_step", "divisible"):
        s = draw.any(_BIG_STEPS) if name not in ("divisible", "results") and draw.chance(0.25) else draw.whole(2, 12)
    elif name == "two_digit":
        s = draw.whole(5, 30)
    elif name == "named":
        s = draw.any((5, 10, 10, 20, 25, 50, 100, 100, 1000))
    elif name in ("till", "series") and draw.chance(0.15):
        s = 1
    k += 8 if s in (2, 5, 10) and draw.chance(0.2) else 0
    low, over, told = draw.any((s, a, a % 20, 0, 0, 1, s, a % 10 * 10)), draw.whole(0, s - 1), draw.any((k, spelled(k)))
    over, start, first = over if draw.chance(0.4) else 0, a % 60 + 1, draw.any((3, 3, 3, 4))
    high, w, n = low + s * k, _PLURALS.get(s), a % 9 + 1
    end = max(0, low - over) if falling else high + over
    line = range(high, end - 1, -s) if falling else range(low, high + 1, s)
    row = list(line) + [line[-1] + line.step * at for at in range(1, 5 if line[-1] + 4 * line.step >= 0 else 1)]
    first = min(first, len(row) - 2)
    line_of_k = range(low, low + s * k, s)
    seen = draw.any((", ", ", ", ", ", " ", " ", ",")).join(map(str, row[:first]))
    by: dict[str, object] = {"a": line[0], "b": end, "s": line.step if name == "seq" else s, "w": w,
          "o": ORDINALS[s] if s < len(ORDINALS) else f"{s}th"}  # fmt: skip
    rows: dict[str, tuple[Sequence[int], dict[str, object]]] = {
        **dict.fromkeys(("step", "from_by", "either_step", "down_by", "seq"), (line, by)),
        "up_to": (range(s, s * k + 1, s), {"s": s, "b": s * k + over}),
        "by_steps": (range(s, s * k + 1, s), {"s": s, "w": w, "b": s * k + over}),
        "named": (range(s * n, s * (n + k) + 1, s), {"a": s * n, "b": s * (n + k), "w": w}),
        "divisible": (range(start + -start % s, start + s * k + over + 1, s),
                      {"a": start, "b": start + s * k + over, "s": s}),
        "divisible_inside": (range(start - start % s + s, start + s * k + over, s),
                             {"a": start, "b": start + s * k + over, "s": s}),
        "multiples": (range(s, s * k + 1, s), {"n": s, "k": told}),
        "results": (range(s, s * 10 + 1, s), {"n": s}),
        "multiples_below": (range(s, s * k, s), {"s": s, "b": s * k - draw.any((0, 0, over))}),
        "two_digit": (range(10 + -10 % s, 100, s), {"s": s, "b": 99}),
        "till": (row[first:], {"x": seen, "seen": row[:first], "b": row[-1] + (0 if falling else over)}),
        "series": (row, {"x": seen, "seen": row[:first], "b": row[-1]}),
        "steps_of": (line_of_k, {"a": line_of_k[0], "s": s, "w": w, "k": told}),
        "multiples_after": (range(s * n + s, s * (n + k) + 1, s), {"a": s * n, "s": s, "k": told}),
        "row of code": (range(low, high, s), {"x": f"range({low}, {high - over}, {s})", "a": low, "b": high - over}),
    }  # fmt: skip
    return rows[name]


_ROWS = weighted(_WORDING, "ways")
# Bounds that stand in letters now and then; not where they are typed as code or with a minus.
_NO_LETTERS = ("seq", "negative", "row of code")


def _rows(draw: Draw) -> list[Exchange]:
    """Numbers in a row, up, down or by steps, and no follow-up, or one, or two."""
    way = draw.any(_ROWS)
    values, said = _row(draw, way)
    steps = {after - before for before, after in pairwise(values)}
    step, apart = steps.pop() if len(steps) == 1 else 0, ""
    name = way.removesuffix(" down").removesuffix(" short")
    working = worked_row(way.removesuffix(" down"), values, said)
    if name not in _NO_LETTERS and draw.chance(0.1):
        said = {key: spelled(one) if key in "ab" and isinstance(one, int) else one for key, one in said.items()}
    ask = draw.asked(_WORDING, name, **said)
    if draw.chance(0.18):
        name = draw.any((*["lines"] * 3, *["row"] * 9, *_APART))
        ask, apart = ask.rstrip(".?! ") + draw.say(_WORDING[f"apart {name}"]), _APART[name]
    exchanges = [listing(draw, values, ask, apart=apart, working=working)]
    while draw.chance(0.3) and len(exchanges) < 3:
        ways = [way for way in _FOLLOW_UPS if _fits(way, values, step)]
        if not ways:
            break
        exchange, values, step = _followed(draw, draw.any(ways), values, step)
        exchanges.append(exchange)
    return exchanges


def _table(draw: Draw) -> list[Exchange]:
    n, last, start = draw.whole(2, 15), 10, draw.any((1, 1, 2, 3, 5, 6))
    way = draw.any(("table", "table", "table_to", "table_from"))
    if way != "table":
        last = draw.any((3, 4, 5, 6, 7, 8, 9, 12, 12, 12, 15) if way == "table_to" else (8, 9, 10, 12))
    rows = range(start if way == "table_from" else 1, last + 1)
    lines = "\n".join(f"{n} × {k} = {n * k}" for k in rows)
    ask = draw.asked(_WORDING, way, n=n, a=start, k=last)
    wanted = [value for k in rows for value in (n, k, n * k)]
    return [Exchange(ask, draw.any(("", "", "Here it is:\n\n")) + lines, number_list(wanted))]


def _in_words(draw: Draw) -> list[Exchange]:
    """Numbers counted in words; one number in words or in digits."""
    way = draw.any(("in words", "in words", "one in words", "in digits"))
    a, length = draw.numbers((0, draw.any((1, 10, 90))), (3, 9))
    if way == "in words":
        row = [spelled(n) for n in range(a, a + length + 1)]
        row = row[::-1] if draw.chance(0.3) else row
        first, last = (a, a + length) if row[0] == spelled(a) else (a + length, a)
        way = "in words to" if first == 1 and draw.chance(0.5) else way
        return [exact(draw.asked(_WORDING, way, a=first, b=last), ", ".join(row))]
    if way == "in digits":
        return calculated(draw, _WORDING, way, f"It is {a}.", a, a=spelled(a))
    return [handed_back(draw, draw.asked(_WORDING, way, a=a), spelled(a))]


def compose(draw: Draw) -> list[Exchange]:
    """One way of counting, perhaps turned round or carried on."""
    return draw.any((*[_rows] * 24, *[_table] * 3, *[continued] * 11, *[totalled] * 3, _in_words))(draw)
