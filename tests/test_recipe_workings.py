"""What the recipe's replies show on the way to an answer is true: sums, comparisons, and the yes or no behind them."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from assets.recipe import corpus
from assets.recipe.conversation import number_list

# Not where another step of a chain follows, nor behind a division.
_CLAIM = re.compile(
    r"(?<![\d.])(?<!/ )(-?\d+(?: [+×-] \d+)*) (<=|>=|<|>|=) (-?\d+)\b(?! [+×/-] )(?: (yes|no|out|stays)\b)?"
)


def replies(skill: str) -> Iterator[str]:
    """The replies of many conversations of the skill."""
    for index in range(1700):
        for exchange in corpus.skill_named(skill).compose(corpus.draw_for("workings", index)):
            yield exchange.reply


def true(claim: re.Match[str]) -> bool:
    """What the claim says of its numbers holds; with a no behind it, or "stays" where others go out, it does not."""
    expression, sign, other, verdict = claim.groups()
    total, *terms = re.split(r" (?=[+×-] )", expression)
    value = int(total)
    for term in terms:
        operator, number = term.split()
        value = value * int(number) if operator == "×" else value + int(f"{operator}{number}")
    held = {"<": value < int(other), ">": value > int(other), "=": value == int(other),
            "<=": value <= int(other), ">=": value >= int(other)}[sign]  # fmt: skip
    return held == (verdict not in ("no", "stays"))


@pytest.mark.parametrize("skill", ["counting", "word lists"])
def test_every_comparison_and_sum_on_the_way_holds(skill: str) -> None:
    claims = [claim for reply in replies(skill) for claim in _CLAIM.finditer(reply)]
    assert len(claims) > 500
    assert not [claim.group() for claim in claims if not true(claim)]


def test_a_row_is_read_after_so_and_only_there() -> None:
    check = number_list([3, 7])
    assert all(map(check, ("3, 7.", "+4: 3, 7, 11 > 8. So 3, 7.", "3 to 7 by 4. So\n3\n7")))
    assert not any(map(check, ("+4: 3, 7, 11 > 8. So 3, 7, 11.", "+4: 3, 7, 11 > 8.")))


@pytest.mark.parametrize(("claim", "held"), [
    ("2 × 8 - 1 = 15", True), ("87 + 10 = 98", False), ("007 > 040 no", True), ("12 > 20 yes", False),
    ("07 < 40 out", True), ("07 > 40 stays", True), ("12 < 20 stays", False), ("0 < 0", False),
])  # fmt: skip
def test_a_claim_that_does_not_hold_is_found(claim: str, held: bool) -> None:
    found = _CLAIM.fullmatch(claim)
    assert found is not None
    assert true(found) == held
