"""Counting up, down and by steps, times tables, even and odd numbers; and carrying on from there."""

from __future__ import annotations

from assets.recipe.conversation import Exchange, number_list
from assets.recipe.draw import Draw
from assets.recipe.words import ORDINALS, read_wording, spelled

_WORDING = read_wording("counting")
_OPEN = ("", "", "", "", "Here you go: ", "Sure: ", "Counting: ", "Here they are: ")
_PLURALS = {2: "twos", 3: "threes", 4: "fours", 5: "fives", 10: "tens"}
_FOLLOW_UPS = ("back", "back", "on", "more", "by", "only", "from")
_LONGEST_AGAIN = 25


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


def _listed(draw: Draw, way: str, values: list[int], step: int, **fields: object) -> list[Exchange]:
    """The values asked for in this way, and no follow-up, or one, or two; `step` 0 if there is no steady one."""
    exchanges = [_listing(draw, values, draw.asked(_WORDING, way, **fields))]
    while draw.chance(0.42) and len(exchanges) < 3:
        ways = [way for way in _FOLLOW_UPS if _fits(way, values, step)]
        if not ways:
            break
        exchange, values, step = _followed(draw, draw.any(ways), values, step)
        exchanges.append(exchange)
    return exchanges


def _run(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, draw.any((1, 20, 20, 90))), (4, draw.any((9, 15, 30))))
    values, fields = list(range(a, a + length + 1)), {"a": _told(draw, a), "b": _told(draw, a + length)}
    if draw.chance(0.35):
        return _listed(draw, "down", values[::-1], 0, **fields)
    return _listed(draw, "up", values, 1, **fields)


def _from_one(draw: Draw) -> list[Exchange]:
    (b,) = draw.numbers((5, draw.any((12, 30, 35))))
    values, down = list(range(1, b + 1)), draw.chance(0.3)
    told = _told(draw, b)
    return _listed(draw, "down_to_one", values[::-1], 0, b=told) if down else _listed(draw, "to", values, 1, b=told)


def _steps(draw: Draw) -> list[Exchange]:
    step, start, count = draw.numbers((2, draw.any((5, 12))), (0, draw.any((0, 10, 30))), (4, 15))
    if draw.chance(0.3):
        step = draw.any((2, 5, 10))
        start = step * draw.whole(0, 4)
    values = list(range(start, start + step * count + 1, step))
    return _listed(draw, "step", values, step, a=start, b=values[-1], s=step, o=ORDINALS[step])


def _parity(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, 60), (8, 30))
    kind = draw.any(("even", "odd"))
    values = [n for n in range(a, a + length + 1) if n % 2 == (kind == "odd")]
    return _listed(draw, "even", values, 2, kind=kind, a=a, b=a + length)


def _next(draw: Draw) -> list[Exchange]:
    a, count = draw.numbers((1, draw.any((20, 99, 300))), (2, 8))
    values = list(range(a + 1, a + count + 1))
    return _listed(draw, "next", values, 1, a=_told(draw, a), k=draw.any((spelled(count), count)))


def _multiples(draw: Draw) -> list[Exchange]:
    n, count = draw.numbers((2, 15), (3, 10))
    values = [n * at for at in range(1, count + 1)]
    return _listed(draw, "multiples", values, n, n=n, k=draw.any((spelled(count), count)))


def _squares(draw: Draw) -> list[Exchange]:
    count = draw.whole(3, 12)
    values = [at * at for at in range(1, count + 1)]
    return [_listing(draw, values, draw.asked(_WORDING, "squares", k=count))]


def _table(draw: Draw) -> list[Exchange]:
    n = draw.whole(2, 15)
    lines = "\n".join(f"{n} × {k} = {n * k}" for k in range(1, 11))
    wanted = [value for k in range(1, 11) for value in (n, k, n * k)]
    reply = draw.any(("", "", "Here it is:\n\n")) + lines
    return [Exchange(draw.asked(_WORDING, "table", n=n), reply, number_list(wanted))]


_WAYS = (*[_run] * 7, *[_from_one] * 4, *[_steps] * 4, _parity, _parity, _table, _table, _next, _next, _multiples,
         _squares)  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """One way of counting, perhaps turned round or carried on."""
    return draw.any(_WAYS)(draw)
