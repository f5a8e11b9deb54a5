"""Facts about a number: even or odd, prime, divisible, the larger of two; rounded; its factors, or shared ones."""

from __future__ import annotations

from math import gcd, lcm

from assets.recipe.conversation import Exchange, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import plain, work, worked_division
from assets.recipe.user_words import calculated, worked
from assets.recipe.words import read_wording, weighted

_WORDING = read_wording("numbers/facts")
_WAYS = weighted(_WORDING, "ways")
_ROUNDED = ((10, "ten"), (10, "whole number"), (100, "hundred"))


def _factors(number: int) -> list[int]:
    return [k for k in range(1, number + 1) if number % k == 0]


def facts(draw: Draw) -> list[Exchange]:
    """Facts about a number: even or odd, prime, divisible, the larger of two; rounded; its factors, or shared ones."""
    way = draw.any(_WAYS)
    a, b, k = draw.numbers((2, draw.any((30, 99, 999))), (2, 99), (2, 9))
    if way in ("factors", "prime"):
        n = draw.any((b % 59 + 2, b + 21))
        listed = ", ".join(map(str, _factors(n)))
        if way == "factors":
            return [Exchange(draw.asked(_WORDING, way, a=n), f"{listed}.", number_list(_factors(n)))]
        known, prime = f"Factors of {n}: {listed}", len(_factors(n)) == 2
        return [worked(draw.asked(_WORDING, way, a=n), known, "yes." if prime else "no.")]
    if way == "gcd":
        shared = draw.any((2, 3, 4, 5, 6, 7, 8, 10, 12))
        a, b = (shared * n for n in draw.rng.sample(range(1, 9 if shared < 9 else 6), 2))
        factors = [f"{n}: {', '.join(map(str, _factors(n)))}" for n in (a, b)]
        return calculated(draw, _WORDING, way, f"{'. '.join(factors)}. Both have {gcd(a, b)}.", gcd(a, b), a=a, b=b)
    if way == "lcm":
        a, b = draw.rng.sample((2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15), 2)
        multiples = [f"{n}: {', '.join(str(one) for one in range(n, lcm(a, b) + 1, n))}" for n in (a, b)]
        return calculated(draw, _WORDING, way, f"{'. '.join(multiples)}. Both have {lcm(a, b)}.", lcm(a, b), a=a, b=b)
    if way == "round":
        unit, name = draw.any(_ROUNDED[: 3 if a > 99 else 2])
        low, digit = a // unit * unit, a % unit * 10 // unit
        shown, below, above = (plain(n / 10 if name == "whole number" else n) for n in (a, low, low + unit))
        known = f"{shown} lies between {below} and {above}. {digit} is {'5 or more' if digit > 4 else 'less than 5'}"
        return [worked(draw.asked(_WORDING, way, a=shown, to=name), known, f"{above if digit > 4 else below}.")]
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
