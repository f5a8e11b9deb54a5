"""Counting up, down and by steps, times tables, even and odd numbers, what comes next; and carrying on from there."""

from __future__ import annotations

from collections.abc import Sequence

from assets.recipe.conversation import Exchange, ends_with_numbers, number_list
from assets.recipe.draw import Draw
from assets.recipe.words import ORDINALS, read_wording, spelled

_WORDING = read_wording("counting")
_OPEN = ("", "", "", "", "Here you go: ", "Sure: ", "Counting: ", "Here they are: ")
_PLURALS = {2: "twos", 3: "threes", 4: "fours", 5: "fives", 6: "sixes", 7: "sevens", 10: "tens", 20: "twenties",
            25: "twenty-fives", 100: "hundreds"}  # fmt: skip
_FOLLOW_UPS = ("back", "back", "on", "more", "by", "only", "from")
_LONGEST_AGAIN = 25
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)


def _listing(draw: Draw, values: list[int], ask: str, follow_up: bool = False) -> Exchange:
    reply = draw.any(_OPEN) + ", ".join(map(str, values)) + draw.any((".", ".", ""))
    return Exchange(ask, reply, number_list(values), follow_up)


def _told(draw: Draw, value: int) -> str:
    """The number as the user types it: in digits, now and then in letters."""
    return spelled(value) if draw.chance(0.1) else str(value)


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
    if way == "back":
        values, step = values[::-1], 0
    elif way in ("on", "more"):
        count = draw.whole(3, 12) if way == "on" else draw.whole(2, 8)
        values = [values[-1] + step * at for at in range(1, count + 1)]
        fields = {"c": values[-1], "k": _told(draw, count)}
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
        fields = {"a": _told(draw, start)}
    return _listing(draw, values, draw.ask(_WORDING[way], **fields), True), values, step


def _row(draw: Draw, way: str) -> tuple[list[int], dict[str, object]]:
    """The numbers asked for in this way, and what the question tells."""
    s = draw.any((*_PLURALS, 2, 5, 10))
    a, length, k = draw.numbers((0, draw.any((3, 30, 100, 300, 3000))), (3, draw.any((8, 8, 12, 20, 60))), (3, 12))
    b, odd, told = a + length, draw.whole(0, 1), draw.any((k, spelled(k)))
    if way in ("up_to", "multiples", "step"):
        s = draw.whole(2, 12)
    start = s * (k + odd) if way == "down_by" else draw.any((s, a, 0, 1))
    kind, top, w = ("even", "odd")[odd], k + 8 * odd, _PLURALS.get(s)
    up, down = start + s * k, start - s * k
    # Now and then the end told is none of the numbers.
    over = draw.whole(0, s - 1) if draw.chance(0.35) else 0
    rows: dict[str, tuple[Sequence[int], dict[str, object]]] = {
        "up": (range(a, b + 1), {"a": _told(draw, a), "b": b}), "down": (range(b, a - 1, -1), {"a": b, "b": a}),
        "to": (range(1, k * 3 + 1), {"b": _told(draw, k * 3)}),
        "down_to_one": (range(top, 0, -1), {"a": top, "b": top}),
        "even": (range(a + (a % 2 != odd), b + 1, 2), {"a": a, "b": b, "kind": kind}),
        "below": (range(2 - odd, b, 2), {"b": b, "d": kind}),
        "up_to": (range(s, s * k + 1, s), {"s": s, "b": s * k + over}),
        "by_steps": (range(s, s * k + 1, s), {"s": s, "w": w, "b": s * k + over}),
        "step": (range(start, up + 1, s), {"a": start, "b": up + over, "s": s, "o": ORDINALS[min(s, 12)]}),
        "from_by": (range(start, up + 1, s), {"a": start, "b": up + over, "s": s, "w": w}),
        "down_by": (range(start, down - 1, -s), {"a": start, "b": down, "s": s, "w": w}),
        "multiples": (range(s, s * k + 1, s), {"n": s, "k": told}),
        "first_odd": (range(2 - odd, 2 * k + 1, 2), {"k": told, "d": kind}),
        "next": (range(a + 1, a + k + 1), {"a": _told(draw, a), "k": told}),
        "starting_at": (range(a, a + k), {"d": told, "a": a}),
        "negative": (range(-k, k + 1 - odd), {"a": -k, "b": k - odd}),
        "ending": (range(a + (k - a) % 10, b + 11, 10), {"a": a, "b": b + 10, "d": k % 10}),
        "primes": ([n for n in _PRIMES if n < b + 3], {"b": b + 3}),
        "squares": ([n * n for n in range(1, k + 1)], {"k": told}),
        "first_primes": (_PRIMES[:k], {"k": told}),
        "powers": ([2**n for n in range(k)], {"k": told, "b": 2 ** (k - 1)}),
        "till": (range(start + 3 * s, up + 5 * s, s), {"x": f"{start}, {start + s}, {start + 2 * s}", "b": up + 4 * s}),
        "steps_of": (range(start, start + s * k, s), {"a": start, "s": s, "k": told}),
        "row of code": (range(a, b, s), {"x": f"range({a}, {b}, {s})"}),
        "row of code down": (range(s * k, -1, -s), {"x": f"range({s * k}, -1, -{s})"}),
    }  # fmt: skip
    numbers, said = rows[way]
    return list(numbers), said


_ROWS = (*["up"] * 14, *["down"] * 16, *["even", "even", "to", "next", "step", "from_by", "multiples"] * 3,
         *["down_to_one"] * 3, *["down_by"] * 4, "below", "up_to", "by_steps", "first_odd", "starting_at", "negative",
         "row of code", "ending", "squares", "primes", "first_primes", "powers", "till", "steps_of",
         "row of code down")  # fmt: skip


def _rows(draw: Draw) -> list[Exchange]:
    """Numbers in a row, up, down or by steps, and no follow-up, or one, or two."""
    way = draw.any(_ROWS)
    values, said = _row(draw, way)
    step = values[1] - values[0] if len(values) > 1 else 0
    exchanges = [_listing(draw, values, draw.asked(_WORDING, way.removesuffix(" down"), **said))]
    while draw.chance(0.3) and len(exchanges) < 3:
        ways = [way for way in _FOLLOW_UPS if _fits(way, values, step)]
        if not ways:
            break
        exchange, values, step = _followed(draw, draw.any(ways), values, step)
        exchanges.append(exchange)
    return exchanges


def _table(draw: Draw) -> list[Exchange]:
    n = draw.whole(2, 15)
    lines = "\n".join(f"{n} × {k} = {n * k}" for k in range(1, 11))
    wanted = [value for k in range(1, 11) for value in (n, k, n * k)]
    reply = draw.any(("", "", "Here it is:\n\n")) + lines
    return [Exchange(draw.asked(_WORDING, "table", n=n), reply, number_list(wanted))]


def _continued(draw: Draw) -> list[Exchange]:
    """The numbers after some, before or between them; how many there are."""
    way = draw.any(("then", "then", "carry_on", "after", "before", "middle", "how_many"))
    start, step, count = draw.numbers((1, 60), (1, 12), (3, 6))
    if way in ("then", "carry_on"):
        factor = 2 + step % 2
        double = draw.chance(0.2)
        values = [(start % 5 + 1) * factor**at if double else start + step * at for at in range(count + 3)]
        more = values[count : count + (1 if way == "then" else 3)]
        ask = draw.ask(_WORDING[way], x=", ".join(map(str, values[:count])))
        reply = draw.any(("", "", "Here you go: ", "Next: ")) + ", ".join(map(str, more)) + "."
        return [Exchange(ask, reply, number_list(more))]
    if way == "how_many":
        end = start + draw.whole(3, 30)
        reply = f"{end} - {start} = {end - start}. {end - start} + 1 = {end - start + 1}."
        return [Exchange(draw.ask(_WORDING[way], a=start, b=end), reply, ends_with_numbers(end - start + 1))]
    answer = start - 1 if way == "before" else start + 1
    return [Exchange(draw.ask(_WORDING[way], x=start, y=start + 2), f"It is {answer}.", ends_with_numbers(answer))]


def compose(draw: Draw) -> list[Exchange]:
    """One way of counting, perhaps turned round or carried on."""
    return draw.any((*[_rows] * 12, _table, _table, *[_continued] * 4))(draw)
