"""Counting up, down and by steps, times tables, even and odd numbers."""

from __future__ import annotations

from assets.recipe.checks import number_list
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.wording import read_wording

_WORDING = read_wording("counting")

_OPEN = ("", "", "", "", "Here you go: ", "Sure: ", "Counting: ", "Here they are: ")


def _listing(draw: Draw, values: list[int], ask: str, follow_up: bool = False) -> Exchange:
    reply = draw.expand(draw.any(_OPEN)) + ", ".join(map(str, values)) + draw.any((".", ".", ""))
    return Exchange(ask, reply, number_list(values), follow_up)


def _run(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, draw.any((1, 20, 20, 90))), (4, draw.any((12, 30, 40))))
    b = a + length
    values = list(range(a, b + 1))
    if draw.chance(0.35):
        exchanges = [_listing(draw, values[::-1], draw.ask(_WORDING["down"], a=a, b=b))]
        values = values[::-1]
    else:
        exchanges = [_listing(draw, values, draw.ask(_WORDING["up"], a=a, b=b))]
        if draw.chance(0.2):
            c = b + draw.whole(3, 12)
            exchanges.append(_listing(draw, list(range(b + 1, c + 1)), draw.ask(_WORDING["on"], c=c), True))
            return exchanges
    if draw.chance(0.3) and length < 25:
        exchanges.append(_listing(draw, values[::-1], draw.ask(_WORDING["back"]), True))
    return exchanges


def _from_one(draw: Draw) -> list[Exchange]:
    (b,) = draw.numbers((5, draw.any((12, 30, 50))))
    values = list(range(1, b + 1))
    if draw.chance(0.3):
        return [_listing(draw, values[::-1], draw.ask(_WORDING["down_to_one"], b=b))]
    exchanges = [_listing(draw, values, draw.ask(_WORDING["to"], b=b))]
    if draw.chance(0.3) and b < 25:
        exchanges.append(_listing(draw, values[::-1], draw.ask(_WORDING["back"]), True))
    return exchanges


def _steps(draw: Draw) -> list[Exchange]:
    step, start, count = draw.numbers((2, draw.any((5, 12))), (0, draw.any((0, 10, 30))), (4, 15))
    if draw.chance(0.2):
        step = draw.any((2, 5, 10))
        start = step * draw.whole(0, 4)
    values = list(range(start, start + step * count + 1, step))
    exchanges = [_listing(draw, values, draw.ask(_WORDING["step"], a=start, b=values[-1], s=step))]
    if draw.chance(0.25):
        exchanges.append(_listing(draw, values[::-1], draw.ask(_WORDING["back"]), True))
    return exchanges


def _parity(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, 60), (8, 30))
    kind = draw.any(("even", "odd"))
    values = [n for n in range(a, a + length + 1) if n % 2 == (kind == "odd")]
    return [_listing(draw, values, draw.ask(_WORDING["even"], kind=kind, a=a, b=a + length))]


def _table(draw: Draw) -> list[Exchange]:
    n = draw.whole(2, 20)
    lines = "\n".join(f"{n} × {k} = {n * k}" for k in range(1, 11))
    wanted = [value for k in range(1, 11) for value in (n, k, n * k)]
    reply = draw.any(("", "", "Here it is:\n\n")) + lines
    return [Exchange(draw.ask(_WORDING["table"], n=n), reply, number_list(wanted))]


def compose(draw: Draw) -> list[Exchange]:
    """One way of counting, perhaps turned round or carried on."""
    return draw.any((_run, _run, _run, _from_one, _steps, _steps, _parity, _table))(draw)
