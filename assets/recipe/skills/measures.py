"""Percentages and unit conversions, worked in steps."""

from __future__ import annotations

from assets.recipe.checks import ends_with_number
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.sums import worked_product, worked_sum
from assets.recipe.wording import read_wording

_WORDING = read_wording("measures")

_UNITS = (
    ("metres", "centimetres", 100), ("kilometres", "metres", 1000), ("kilograms", "grams", 1000),
    ("litres", "millilitres", 1000),
    ("hours", "minutes", 60), ("minutes", "seconds", 60), ("days", "hours", 24), ("weeks", "days", 7),
    ("years", "months", 12), ("feet", "inches", 12), ("yards", "feet", 3), ("dozens", "pieces", 12),
    ("euros", "cents", 100), ("centimetres", "millimetres", 10), ("tonnes", "kilograms", 1000),
    ("pounds", "ounces", 16),
)  # fmt: skip
_THINGS = (
    "coat",
    "lamp",
    "bike",
    "chair",
    "phone",
    "table",
    "guitar",
    "watch",
    "tent",
    "jacket",
    "bag",
    "camera",
)
_PERCENTS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 90)


def worked_percentage(percent: int, amount: int) -> str:
    """The percentage of an amount that is a multiple of twenty, from easy parts."""
    if percent in (50, 25):
        parts = {50: 2, 25: 4}[percent]
        return f"{percent}% of {amount} is {amount} / {parts} = {amount // parts}"
    ten = amount // 10
    if percent == 10:
        return f"10% of {amount} is {ten}"
    if percent == 5:
        return f"10% of {amount} is {ten}, so 5% is {ten // 2}"
    if percent == 15:
        return f"10% of {amount} is {ten} and 5% is {ten // 2}, so 15% is {worked_sum(ten, ten // 2, '+')}"
    if percent == 75:
        half, quarter = amount // 2, amount // 4
        return f"50% of {amount} is {half} and 25% is {quarter}, so 75% is {worked_sum(half, quarter, '+')}"
    return f"10% of {amount} is {ten}, so {percent}% is {worked_product(ten, percent // 10)}"


def _conversion(draw: Draw) -> list[Exchange]:
    big, small, factor = draw.any(_UNITS)
    (a,) = draw.numbers((2, 60 if factor in (10, 100, 1000) else 12))
    fields: dict[str, object] = {"big": big, "small": small, "f": factor, "a": a, "b": a * factor,
                                 "one": "foot" if big == "feet" else big[:-1]}  # fmt: skip
    if draw.chance(0.6):
        reply = draw.say(
            _WORDING["down_reply"],
            work=worked_product(factor, a) if factor % 10 else f"{a} × {factor} = {a * factor}",
            **fields,
        )
        return [Exchange(draw.ask(_WORDING["down"], **fields), reply, ends_with_number(a * factor))]
    return [Exchange(draw.ask(_WORDING["up"], **fields), draw.say(_WORDING["up_reply"], **fields), ends_with_number(a))]


def _percentage(draw: Draw) -> list[Exchange]:
    percent = draw.any(_PERCENTS)
    (twenties,) = draw.numbers((1, 25))
    amount = 20 * twenties
    work = worked_percentage(percent, amount)
    share = amount * percent // 100
    if draw.chance(0.3):
        ask = draw.ask(_WORDING["discount"], thing=draw.any(_THINGS), p=percent, a=amount)
        price = worked_sum(amount, share, "-")
        return [
            Exchange(ask, f"{work}. {price}, so it costs {amount - share} euros.", ends_with_number(amount - share))
        ]
    exchanges = [Exchange(draw.ask(_WORDING["percent"], p=percent, a=amount), work + ".", ends_with_number(share))]
    if draw.chance(0.25):
        other = draw.any(_PERCENTS)
        exchanges.append(Exchange(draw.ask(_WORDING["with"], x=other), worked_percentage(other, amount) + ".",
                                  ends_with_number(amount * other // 100), True))  # fmt: skip
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """A conversion or a percentage."""
    return _conversion(draw) if draw.chance(0.5) else _percentage(draw)
