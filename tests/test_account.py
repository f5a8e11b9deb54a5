"""The account of guessing: what steps yield and take is booked, and a debt makes it rest."""

from __future__ import annotations

from random import Random

import pytest

from decoding import Origin, Step, StepCost
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.costs.step_cost import OPENING, CostCurve
from decoding.planning.account import (
    MAX_BALANCE,
    MAX_DEBT,
    MAX_SLOWDOWN,
    REFERENCE_STEPS,
    RUN_STEPS,
    Account,
)
from decoding.planning.planner import StepPlan


def book_branches(account: Account, tokens: int, seconds: float = 0.0) -> None:
    """Book a step over a candidate that came with so many tokens."""
    tree = CandidateTree()
    tree.add([3], Origin.CONTEXT)
    plan = StepPlan(9, 2, JacobiWindow.none(), (), tree, curve=CostCurve([1.0, 1.5]))
    account.book(plan, Step((3,) * tokens, (Origin.PLAIN,) * tokens, forward_tokens=2, seconds=seconds))


def book_planned_plain(account: Account, seconds: float = 1.0) -> None:
    """Book a plain step for which a search found no candidates."""
    plan = StepPlan(9, 2, JacobiWindow.none(), (), CandidateTree(), curve=CostCurve([1.0, 1.5]))
    account.book(plan, Step((3,), (Origin.PLAIN,), forward_seconds=1.0, seconds=seconds))


def book_rest(account: Account, seconds: float = 1.0) -> None:
    account.book(None, Step((3,), (Origin.PLAIN,), forward_seconds=seconds, seconds=seconds))


def begun(cost: StepCost) -> Account:
    """Return an account behind a text's first step, which is booked as expected."""
    account = Account(cost)
    account.book(None, Step((3,), (Origin.PLAIN,)))
    return account


@pytest.mark.parametrize("seed", range(5))
def test_any_run_of_steps_loses_no_more_than_balance_and_tax(seed: int) -> None:
    """Random luck, text by text: the bound holds from every step to every later one."""
    draw, balance = Random(seed), OPENING
    regrets, regret = [0.0], 0.0
    for _ in range(30):
        luck, dear = draw.random(), 1 + 3 * draw.random()
        cost = StepCost({1: 1.0, 2: dear}, live=False)
        cost.balance = balance
        account = Account(cost)
        for _ in range(draw.randrange(10, 200)):
            tokens, taken = 1, 1.0
            if account.rests():
                book_rest(account)
            else:
                tokens, taken = (1 + 4 * (draw.random() < luck), dear)
                book_branches(account, tokens)
            regret += taken - tokens * (1 + MAX_SLOWDOWN)
            regrets.append(regret)
        balance = cost.balance
    lowest = 0.0
    for each in regrets:
        lowest = min(lowest, each)
        assert each - lowest <= MAX_BALANCE + 4
    assert max(regrets) <= OPENING + 4


def test_what_a_text_has_saved_does_not_permit_the_next_to_lose_as_much() -> None:
    cost = StepCost({1: 1.0, 2: 1.5}, live=False)
    first, lost = Account(cost), 0.0
    for _ in range(20):
        book_branches(first, 3)
    assert cost.balance > OPENING
    second = Account(cost)
    while not second.rests():
        book_branches(second, 1)
        lost += 0.5
    assert lost <= OPENING + 0.5


def test_where_guessing_only_loses_it_is_tried_less_and_less() -> None:
    account, lost = Account(StepCost({1: 1.0, 2: 1.5}, live=False)), list[float]()
    for _ in range(4000):
        if account.rests():
            book_rest(account)
            lost.append(0.0)
        else:
            book_branches(account, 1)
            lost.append(0.5)
    assert sum(lost[:400]) < OPENING + MAX_SLOWDOWN * 400 + 1
    assert sum(lost[2000:]) <= MAX_SLOWDOWN * 2000 + 1


def test_what_is_prepared_before_a_texts_first_step_is_not_held_against_guessing() -> None:
    """Such as the probe of what steps cost, which takes as long as a hundred of them."""
    account = Account(StepCost({1: 1.0, 2: 1.5}))
    book_planned_plain(account, 100.0)
    assert not account.rests()
    book_planned_plain(account, 100.0)
    assert account.rests()


def test_the_first_steps_of_a_model_cost_what_was_expected() -> None:
    """Half as dear again, they would end the guessing of a first reply before it began."""
    cost = StepCost({1: 1.0, 2: 1.5})
    account = begun(cost)
    while cost.is_doubtful:
        book_branches(account, 1, 9.0)
        assert not account.rests()
    book_branches(account, 1, 9.0)
    assert account.rests()


def test_asking_again_changes_nothing() -> None:
    """A rest is used up by its steps, and not by the question."""
    once, often = Account(StepCost({1: 1.0, 2: 9.0}, live=False)), Account(StepCost({1: 1.0, 2: 9.0}, live=False))
    for _ in range(60):
        rests = once.rests()
        assert [often.rests() for _ in range(9)] == [rests] * 9
        for account in (once, often):
            book_rest(account) if rests else book_branches(account, 1)


def test_a_single_stall_is_not_booked_in_full_and_a_row_of_them_costs_no_more_than_the_largest_debt() -> None:
    cost = StepCost({1: 1.0, 2: 1.5})
    account, rested = begun(cost), 0
    while cost.balance < MAX_BALANCE or cost.is_doubtful:
        book_branches(account, 3, 1.5)
    book_branches(account, 1, 1000.0)
    assert not account.rests()
    book_branches(account, 1, 1000.0)
    while account.rests():
        book_rest(account)
        rested += 1
    assert MAX_DEBT / MAX_SLOWDOWN <= rested <= MAX_DEBT / MAX_SLOWDOWN + RUN_STEPS


def test_what_was_lost_only_because_all_became_slower_is_not_held_against_guessing() -> None:
    def rest_after(slower: float) -> int:
        """The steps of the rest where plain steps take so many times what was expected."""
        cost = StepCost({1: 1.0, 2: 1.5})
        account, steps = begun(cost), 0
        while not account.rests():
            book_branches(account, 1, 4.5)
        while account.rests() and steps < 30:
            book_rest(account, slower)
            steps += 1
        return steps

    assert rest_after(1.0) == rest_after(1.1) == 30
    # As soon as there are enough to tell.
    assert rest_after(3.0) == RUN_STEPS


def test_a_rest_tells_what_a_plain_step_takes_now() -> None:
    cost = StepCost({1: 1.0, 2: 1.5})
    account = begun(cost)
    for _ in range(2 * RUN_STEPS):
        book_rest(account, 1.5)
    assert cost.seconds(1) == pytest.approx(1.5, rel=0.1)
    book_branches(account, 1, 1.5)
    book_rest(account, 9.0)  # a longer step leaves other data in the processor's caches
    book_branches(account, 1, 1.5)
    assert cost.seconds(1) == pytest.approx(1.5, rel=0.1)


def test_a_plain_step_is_timed_now_and_then_however_well_guessing_pays() -> None:
    cost = StepCost({1: 1.0, 2: 1.0})
    account = begun(cost)
    rested = 0
    for _ in range(300):
        if account.rests():
            book_rest(account, 0.5)
            rested += 1
        else:
            book_branches(account, 2, 1.0)
    assert cost.seconds(1) < 1.0
    assert rested == 2 * (300 // REFERENCE_STEPS)
