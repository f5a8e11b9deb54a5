"""Facts about a number: even or odd, divisible, the larger of two; rounded; its factors."""

from __future__ import annotations

from assets.recipe.conversation import Exchange, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import work, worked_division
from assets.recipe.user_words import worked
from assets.recipe.words import read_wording

_WORDING = read_wording("numbers/facts")
_ROUNDED = ((10, "ten"), (100, "hundred"))


def facts(draw: Draw) -> list[Exchange]:
    """Facts about a number: even or odd, divisible, the larger of two; rounded; its factors."""
    way = draw.any(("parity", "is_even", "divisible", "divisible", "compare", "is_more", "round", "round", "factors"))
    a, b, k = draw.numbers((2, draw.any((30, 99, 999))), (2, 99), (2, 9))
    if way == "factors":
        n = b % 59 + 2
        found = [k for k in range(1, n + 1) if n % k == 0]
        return [Exchange(draw.asked(_WORDING, way, a=n), f"{', '.join(map(str, found))}.", number_list(found))]
    if way == "round":
        unit, name = draw.any(_ROUNDED[: 2 if a > 99 else 1])
        low, digit = a // unit * unit, a % unit * 10 // unit
        known = f"{a} lies between {low} and {low + unit}. {digit} is {'5 or more' if digit > 4 else 'less than 5'}"
        return [worked(draw.asked(_WORDING, way, a=a, to=name), known, f"{low + unit * (digit > 4)}.")]
    kind, sign = draw.any(("even", "odd")), draw.any(("bigger", "smaller"))
    if way in ("parity", "is_even"):
        odd = "odd" if a % 2 else "even"
        answer = odd if way == "parity" else "yes" if odd == kind else "no"
        return [worked(draw.asked(_WORDING, way, a=a, kind=kind), f"{a} ends in {a % 10}: {odd}", f"{answer}.")]
    if way == "divisible":
        a = k * (b % 20 + 1) + draw.any((0, draw.whole(1, k - 1)))
        known = worked_division(a, k) if a % k else work(a, k, "/")[0]
        return [worked(draw.asked(_WORDING, way, a=a, b=k), known, "no." if a % k else "yes.")]
    b = draw.any((b, a + k, max(1, a - k), a // 10 + a % 10 * 10 + 1))
    b += a == b
    known = f"{a} is {'more' if a > b else 'less'} than {b}"
    right = max(a, b) if sign == "bigger" else min(a, b)
    answer = str(right) if way == "compare" else "yes" if right == a else "no"
    return [worked(draw.asked(_WORDING, f"{way} {sign}", a=a, b=b), known, f"{answer}.")]
