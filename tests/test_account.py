"""Never slower: whatever the model says and steps take, lookahead decoding loses no more than the account allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from decoding import LookaheadDecoder, Origin, Session, Step, StepCost
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.costs.step_cost import OPENING, CostCurve
from decoding.planning import budgeted_planner
from decoding.planning.account import (
    MAX_BALANCE,
    MAX_DEBT,
    MAX_SLOWDOWN,
    REFERENCE_STEPS,
    RUN_STEPS,
    Account,
)
from decoding.planning.candidate_selection import select
from decoding.planning.planner import StepPlan
from tests.models import VOCABULARY, random_model, random_prompt, reciting_model, successor_model
from tests.pairs import pairs

FLAT = {1: 1.0, 128: 1.0}
"""The probe's belief: guesses cost nothing."""
CYCLE = {token: 10 + (token - 9) % 7 for token in range(10, 17)}


class Machine:
    """A machine on which steps take what the test says, on a clock of its own."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        cost: Callable[[int], float],
        looking: float = 0.0,
        speed: Callable[[int], float] = lambda position: 1.0,
    ) -> None:
        """
        Args:
            cost: the seconds of a step over so many tokens.
            looking: the seconds that it takes to look for candidates.
            speed: by the place in the text, a factor of all times.
        """
        self.now, self.speed = 0.0, speed
        for module in ("request", "prefilling", "plain_step", "lookahead"):
            monkeypatch.setattr(f"decoding.{module}.perf_counter", lambda: self.now)
        read, forward_branches = Session.read, Session.forward_branches

        def timed_read(session: Session, count: int) -> Any:
            self.now += cost(1) * speed(len(session.ids))
            return read(session, count)

        def timed_look_ahead(session: Session, inputs: Any) -> Any:
            self.now += cost(len(inputs)) * speed(len(session.ids))
            return forward_branches(session, inputs)

        def timed_select(*arguments: Any) -> Any:
            self.now += looking
            return select(*arguments)

        monkeypatch.setattr(Session, "read", timed_read)
        monkeypatch.setattr(Session, "forward_branches", timed_look_ahead)
        monkeypatch.setattr(budgeted_planner, "select", timed_select)


def times(machine: Machine, decoder: LookaheadDecoder, prompts: Iterable[list[int]], count: int) -> tuple[float, float]:
    """Seconds of all replies, each in a session of its own, and of plain decoding; the prompts' are left out."""
    taken = plain = 0.0
    for prompt in prompts:
        steps: list[Step] = list(decoder.generate(prompt, max_new_tokens=count, eos_token_ids=()))
        taken += sum(step.seconds for step in steps if not step.prefill)
        emitted = sum(len(step.tokens) for step in steps if not step.prefill)
        plain += sum(machine.speed(len(prompt) + 1 + at) for at in range(emitted))
    return taken, plain


MODELS = {
    "guesses fail": lambda: random_model("llama", positions=512, layers=3),
    "guesses are right": lambda: successor_model(CYCLE),
    "now this, now that": lambda: reciting_model(
        [*range(3, 20)] * 2 + Random(5).choices(range(3, VOCABULARY), k=40) + [*range(3, 20)] * 4
    ),
}
COSTS: dict[str, Callable[[int], float]] = {
    "three times": lambda tokens: 1.0 if tokens == 1 else 3.0,
    "a tenth a token": lambda tokens: 0.9 + 0.1 * tokens,
    "as believed": lambda tokens: 1.0,
    "now cheap, now dear": lambda tokens: 1.0 if tokens % 2 else 2.0,
}


@pytest.mark.parametrize(("cost", "model"), pairs(COSTS, MODELS))
def test_no_text_on_no_machine_takes_longer_than_the_account_allows(
    monkeypatch: pytest.MonkeyPatch, model: str, cost: str
) -> None:
    """One long text, then short ones in sessions of their own; the belief beforehand is that guesses are free."""
    machine = Machine(monkeypatch, COSTS[cost], looking=0.05)
    decoder = LookaheadDecoder(MODELS[model](), cost=StepCost(FLAT))
    worst = max(COSTS[cost](tokens) for tokens in range(1, 98))
    prompts = [[3, 4, 5, 6, 10, 11, 12], [10, 11, 12, 13]]
    long = times(machine, decoder, prompts, 120)
    short = times(machine, decoder, prompts * 2, 20)
    for taken, plain in (long, tuple(map(sum, zip(long, short, strict=True)))):
        assert taken <= (1 + MAX_SLOWDOWN) * plain + OPENING + 2 * worst
    if cost == "as believed" and model == "guesses are right":
        assert long[0] < 0.4 * long[1]


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_machine_that_turns_slower_or_faster_deceives_it_but_little(
    monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    machine = Machine(monkeypatch, COSTS["three times"], 0.01, lambda at: factor if at // 60 % 2 else 1.0)
    model = random_model("llama", positions=512)
    taken, plain = times(machine, LookaheadDecoder(model, cost=StepCost(FLAT)), [random_prompt(9)], 240)
    assert taken <= (1 + MAX_SLOWDOWN) * plain + 3 * (OPENING + 3)
    machine = Machine(monkeypatch, COSTS["as believed"], 0.01, lambda at: factor if at // 60 % 2 else 1.0)
    taken, plain = times(machine, LookaheadDecoder(successor_model(CYCLE), cost=StepCost(FLAT)), [[10, 11, 12]], 240)
    assert taken < 0.5 * plain


def test_a_cost_measured_beside_other_programs_is_corrected_by_the_first_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    for measured in (1.0, 4.0):  # what a step over several tokens seemed to take, by what it takes
        machine = Machine(monkeypatch, COSTS["a tenth a token"], looking=0.01)
        cost = StepCost({1: 1.0} | {size: measured * COSTS["a tenth a token"](size) for size in (2, 8, 32)})
        model = MODELS["now this, now that"]()
        taken.append(times(machine, LookaheadDecoder(model, cost=cost), [[3, 4, 5, 6, 7]], 100)[0])
    assert taken[1] < 1.1 * taken[0]


def test_a_machine_that_turns_slower_ends_no_guessing_that_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(
        monkeypatch,
        lambda tokens: 1.0 if tokens == 1 else 1.15 + 0.01 * tokens,
        0.01,
        lambda at: 6.0 if at > 40 else 1.0,
    )
    decoder = LookaheadDecoder(MODELS["now this, now that"](), cost=StepCost({1: 1.0, 8: 1.23, 64: 1.8}))
    taken, plain = times(machine, decoder, [[3, 4, 5, 6, 7]], 160)
    assert taken < 0.65 * plain


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
