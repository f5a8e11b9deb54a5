"""Sums worked digit by digit: two numbers and a sign, or the steps of a plan.

Beside the signs that people write there are three for a division that need not come out: ⌈ counts the groups that hold
everything, ⌊ those that are full, and % is what is left over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_TENS = (10, 100, 1000)
UNEVEN = "⌈⌊%"


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


def _carries(a: int, b: int) -> bool:
    return any(int(one) + int(other) > 9 for one, other in zip(str(a)[::-1], str(b)[::-1], strict=False))


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
        chain.append(" + ".join(map(str, products)))
        first, second, *rest = products
        carries = _carries(first, second) if rest else first // 100 != (first + second) // 100
        parts = places(second) if carries else [second]
        products = [first, *parts, *rest] if len(parts) > 1 else [first + second, *rest]
    return " = ".join([*chain, str(products[0])])


def worked_quotient(a: int, b: int) -> str:
    """Division with nothing left: a part that gives one digit of the result is split off, and so on with the rest."""
    parts = places(a // b)
    if len(parts) == 1 or b in (1, *_TENS):
        return f"{a} / {b} = {a // b}"
    chain = [f"{a} / {b}"]
    for at, part in enumerate(parts[:-1]):
        a -= part * b
        chain.append(" + ".join((*map(str, parts[:at]), f"{part * b} / {b}", f"{a} / {b}")))
    return " = ".join((*chain, " + ".join(map(str, parts)), str(sum(parts))))


def worked_ratio(a: int, b: int) -> str:
    """Division that need not come out, with a point: as one with a remainder, which is then divided."""
    whole, left = divmod(a, b)
    if left and whole and b not in _TENS:
        part = plain(left / b)
        return f"{worked_division(a, b)}. {left} / {b} = {part}. {whole} + {part} = {plain(a / b)}"
    return f"{a} / {b} = {plain(a / b)}" if left else worked_quotient(a, b)


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


def _worked_groups(a: int, b: int, sign: str) -> tuple[str, int]:
    """The division that need not come out, and its groups or what is left over."""
    whole, left = divmod(a, b)
    if not left:
        return worked_quotient(a, b), whole
    line = worked_division(a, b)
    if sign == "⌈":
        return f"{line}. {whole} + 1 = {whole + 1}", whole + 1
    return line, left if sign == "%" else whole


def work(a: int, b: int, sign: str) -> tuple[str, int]:
    """The worked line and its result."""
    if sign in UNEVEN:
        return _worked_groups(a, b, sign)
    if sign == "-" and 0 <= a < b:
        return f"{worked_sum(b, a, '-')}, so {a} - {b} = {a - b}", a - b
    if sign in "+-":
        return worked_sum(a, b, sign), a + b if sign == "+" else a - b
    if sign == "×":
        return worked_product(a, b), a * b
    return worked_quotient(a, b), a // b


@dataclass(frozen=True)
class Step:
    """A step of a plan: the names of its numbers (`own` for one that the plan has itself), its line, its result."""

    needs: tuple[str, str]
    line: str
    result: int


def steps(plan: str, found: Mapping[str, int]) -> list[Step] | None:
    """The steps of a plan such as `a×b, c-x` (x is the result before, y the one before that), worked.

    None if one does not stay whole and above zero.
    """
    done: list[Step] = []
    x, y = 0, 0
    for step in plan.split(", "):
        values = {**found, "x": x, "y": y}
        one, other = values[step[0]], values[step[2:]] if step[2:] in values else int(step[2:])
        if other < 1 or (step[1] == "/" and one % other) or (step[1] == "-" and one - other < 1):
            return None
        if step[1] in UNEVEN and (one < other or (step[1] == "%" and one % other == 0)):
            return None
        line, result = work(one, other, step[1])
        done.append(Step((step[0], step[2:] if step[2:] in values else "own"), line, result))
        x, y = result, x
    return done


def worked(plan: str, found: Mapping[str, int]) -> tuple[str, int] | None:
    """The lines of a plan's steps and what they come to; None where there are no such steps."""
    done = steps(plan, found)
    return (". Then ".join(step.line for step in done), done[-1].result) if done else None


def plain(value: float) -> str:
    """The value without zeros at its end."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
