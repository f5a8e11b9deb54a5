"""Counting up, down and by steps, times tables, even and odd numbers."""

from __future__ import annotations

from assets.recipe.checks import number_list
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw

_UP = ("Count from {a} to {b}.", "[Please count|Count up] from {a} to {b}.", "count {a} to {b}",
       "Give me the numbers from {a} to {b}.",
       "List [all |]the numbers from {a} to {b}.", "Can you count from {a} to {b}?", "Numbers {a} to {b}.",
       "Write [down |]the numbers from {a} to {b}.", "Count {a} to {b} please.",
       "Start at {a} and count to {b}.")  # fmt: skip
_DOWN = ("Count [down|backwards] from {b} to {a}.", "Count from {b} [down |]to {a}.",
         "Give me a countdown from {b} to {a}.",
         "[Now |]count backwards from {b} to {a}.", "List the numbers from {b} down to {a}.",
         "countdown {b} to {a}",
         "Start at {b} and count down to {a}.")  # fmt: skip
_STEP = ("Count from {a} to {b} by {s}s.", "Count from {a} to {b} in steps of {s}.",
         "Count by {s} from {a} to {b}.",
         "Every {s}th number from {a} to {b}.", "List the numbers from {a} to {b} in steps of {s}.",
         "Go from {a} to {b} in steps of {s}.", "Count in {s}s from {a} to {b}.")  # fmt: skip
_EVEN = ("[List|Give me|Write] the {kind} numbers from {a} to {b}.",
         "Which numbers between {a} and {b} are {kind}?",
         "{kind} numbers from {a} to {b}", "Count only the {kind} numbers from {a} to {b}.",
         "All {kind} numbers {a} to {b}?")  # fmt: skip
_TABLE = ("[Write|Show|Give me] the {n} times table.", "{n} times table",
          "Multiplication table of {n}[ please|].",
          "What is the times table for {n}?", "Recite the {n} times table.",
          "Show me the table of {n}.")  # fmt: skip
_TO = ("Count to {b}.", "[Please count|Count up] to {b}.", "count to {b}", "Can you count to {b}?",
       "Count up to {b}[ please|].",
       "Count from one to {b}.", "Numbers up to {b}.")
_DOWN_TO_ONE = ("Count [down|backwards] from {b}.", "Countdown from {b}.", "Start a countdown at {b}.",
                "Count down from {b} please.")
_BACK = ("[And |Now |]backwards.", "Now the other way [round|around].", "And in reverse?", "Now count back.",
         "[Reverse|Turn] it around.",
         "Backwards please.")  # fmt: skip
_ON = ("[Go on|Continue|Keep going] to {c}.", "[And |Now |]up to {c}.", "Now continue to {c}.",
       "and on to {c}?", "Count on to {c}.")
_OPEN = ("", "", "", "", "Here you go: ", "Sure: ", "Counting: ", "Here they are: ")


def _listing(draw: Draw, values: list[int], ask: str, follow_up: bool = False) -> Exchange:
    reply = draw.expand(draw.any(_OPEN)) + ", ".join(map(str, values)) + draw.any((".", ".", ""))
    return Exchange(ask, reply, number_list(values), follow_up)


def _run(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, draw.any((1, 20, 20, 90))), (4, draw.any((12, 30, 40))))
    b = a + length
    values = list(range(a, b + 1))
    if draw.chance(0.35):
        exchanges = [_listing(draw, values[::-1], draw.ask(_DOWN, a=a, b=b))]
        values = values[::-1]
    else:
        exchanges = [_listing(draw, values, draw.ask(_UP, a=a, b=b))]
        if draw.chance(0.2):
            c = b + draw.whole(3, 12)
            exchanges.append(_listing(draw, list(range(b + 1, c + 1)), draw.ask(_ON, c=c), True))
            return exchanges
    if draw.chance(0.3) and length < 25:
        exchanges.append(_listing(draw, values[::-1], draw.ask(_BACK), True))
    return exchanges


def _from_one(draw: Draw) -> list[Exchange]:
    (b,) = draw.numbers((5, draw.any((12, 30, 50))))
    values = list(range(1, b + 1))
    if draw.chance(0.3):
        return [_listing(draw, values[::-1], draw.ask(_DOWN_TO_ONE, b=b))]
    exchanges = [_listing(draw, values, draw.ask(_TO, b=b))]
    if draw.chance(0.3) and b < 25:
        exchanges.append(_listing(draw, values[::-1], draw.ask(_BACK), True))
    return exchanges


def _steps(draw: Draw) -> list[Exchange]:
    step, start, count = draw.numbers((2, draw.any((5, 12))), (0, draw.any((0, 10, 30))), (4, 15))
    if draw.chance(0.2):
        step = draw.any((2, 5, 10))
        start = step * draw.whole(0, 4)
    values = list(range(start, start + step * count + 1, step))
    exchanges = [_listing(draw, values, draw.ask(_STEP, a=start, b=values[-1], s=step))]
    if draw.chance(0.25):
        exchanges.append(_listing(draw, values[::-1], draw.ask(_BACK), True))
    return exchanges


def _parity(draw: Draw) -> list[Exchange]:
    a, length = draw.numbers((0, 60), (8, 30))
    kind = draw.any(("even", "odd"))
    values = [n for n in range(a, a + length + 1) if n % 2 == (kind == "odd")]
    return [_listing(draw, values, draw.ask(_EVEN, kind=kind, a=a, b=a + length))]


def _table(draw: Draw) -> list[Exchange]:
    n = draw.whole(2, 20)
    lines = "\n".join(f"{n} × {k} = {n * k}" for k in range(1, 11))
    wanted = [value for k in range(1, 11) for value in (n, k, n * k)]
    reply = draw.any(("", "", "Here it is:\n\n")) + lines
    return [Exchange(draw.ask(_TABLE, n=n), reply, number_list(wanted))]


def compose(draw: Draw) -> list[Exchange]:
    """One way of counting, perhaps turned round or carried on."""
    return draw.any((_run, _run, _run, _from_one, _steps, _steps, _parity, _table))(draw)
