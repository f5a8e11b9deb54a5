"""Never slower: whatever the model says and steps take, lookahead decoding loses no more than the ledger allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from decoding import LookaheadDecoder, Origin, Session, Step, StepCost
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.costs.ledger import MAX_BALANCE, MAX_DEBT, MAX_SLOWDOWN, OPENING, WARM_UPS, Ledger
from decoding.costs.step_cost import CostCurve
from decoding.drafting.expander import CandidateExpander, Node
from decoding.drafting.tables import DraftTables
from decoding.planning import budgeted_planner
from decoding.planning.account import MIN_PLAIN_RUN, Account
from decoding.planning.budget import select
from decoding.planning.step_plan import StepPlan
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
        for module in ("request", "decoder", "plain_step", "lookahead"):
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
def test_no_text_on_no_machine_takes_longer_than_the_ledger_allows(
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


def book_branches(account: Account, tokens: int, seconds: float = 0.0, promised: float = 1.0) -> None:
    """Book a step over a candidate that was promised with a probability, and came with so many tokens."""
    expander = CandidateExpander(DraftTables(), [2])
    tree = expander.take([Node(3, expander.root, 1, (0,), promised)])
    plan = StepPlan(9, 2, JacobiWindow.none(), (), tree, expander, curve=CostCurve([1.0, 1.5]))
    account.book(plan, Step((3,) * tokens, (Origin.PLAIN,) * tokens, forward_tokens=2, seconds=seconds))


def book_planned_plain(account: Account, seconds: float = 1.0) -> None:
    """Book a plain step for which a search found no candidates."""
    plan = StepPlan(9, 2, JacobiWindow.none(), (), CandidateTree(), curve=CostCurve([1.0, 1.5]))
    account.book(plan, Step((3,), (Origin.PLAIN,), forward_seconds=1.0, seconds=seconds))


def book_rest(account: Account, seconds: float = 1.0) -> None:
    account.book(None, Step((3,), (Origin.PLAIN,), forward_seconds=seconds, seconds=seconds))


def test_what_was_lost_only_because_all_became_slower_is_not_held_against_guessing() -> None:
    def rest_after(slower: float) -> int:
        """The steps of the rest where plain steps take so many times what was expected."""
        account, steps = Account(StepCost({1: 1.0, 2: 1.5})), 0
        while not account.rests(has_window=False):
            book_branches(account, 2, 4.5)
        while account.rests(has_window=False) and steps < 20:
            book_rest(account, slower)
            steps += 1
        return steps

    assert rest_after(1.0) == rest_after(1.1) == 20
    # As soon as there are enough to tell.
    assert rest_after(3.0) == 1 + MIN_PLAIN_RUN


@pytest.mark.parametrize("seed", range(5))
def test_any_run_of_steps_loses_no_more_than_balance_and_tax(seed: int) -> None:
    """Random luck, text by text: the bound holds from every step to every later one."""
    draw, ledger = Random(seed), Ledger()
    regrets, regret = [0.0], 0.0
    for _ in range(30):
        luck, dear = draw.random(), 1 + 3 * draw.random()
        cost = StepCost({1: 1.0, 2: dear}, live=False)
        cost.ledger = ledger
        account = Account(cost)
        for _ in range(draw.randrange(10, 200)):
            tokens, taken = 1, 1.0
            if account.rests(has_window=draw.random() < 0.3):
                book_rest(account)
            else:
                tokens, taken = (1 + 4 * (draw.random() < luck), dear)
                book_branches(account, tokens)
            regret += taken - tokens * (1 + MAX_SLOWDOWN)
            regrets.append(regret)
    lowest = 0.0
    for each in regrets:
        lowest = min(lowest, each)
        assert each - lowest <= MAX_BALANCE + 4
    assert max(regrets) <= OPENING + 4


def test_where_guessing_only_loses_it_is_tried_less_and_less() -> None:
    account, lost = Account(StepCost({1: 1.0, 2: 1.5}, live=False)), list[float]()
    for _ in range(4000):
        if account.rests(has_window=False):
            book_rest(account)
            lost.append(0.0)
        else:
            book_branches(account, 1)
            lost.append(0.5)
    assert sum(lost[:400]) < OPENING + MAX_SLOWDOWN * 400 + 1
    assert sum(lost[2000:]) < MAX_SLOWDOWN * 2000


def test_a_text_that_repeats_interrupts_a_rest_until_a_search_is_in_vain() -> None:
    cost = StepCost({1: 1.0, 2: 1.5}, live=False)
    account = Account(cost)
    while not account.rests(has_window=False):
        book_branches(account, 1)
    for _ in range(4):
        assert not account.rests(has_window=False, recites=True)
        book_branches(account, 4)
    book_planned_plain(account)
    assert account.rests(has_window=False, recites=True)
    poor = Account(cost)
    cost.ledger.balance = -1.0
    assert poor.rests(has_window=False, recites=True)


def test_what_is_prepared_before_a_texts_first_step_is_not_held_against_guessing() -> None:
    """Such as the probe of what steps cost, which takes as long as a hundred of them."""
    account = Account(StepCost({1: 1.0, 2: 1.5}))
    book_planned_plain(account, 100.0)
    assert not account.rests(has_window=False)
    book_planned_plain(account, 100.0)
    assert account.rests(has_window=False)


def test_asking_again_changes_nothing() -> None:
    """A rest is used up by its steps, and not by the question."""
    once, often = Account(StepCost({1: 1.0, 2: 9.0}, live=False)), Account(StepCost({1: 1.0, 2: 9.0}, live=False))
    for _ in range(60):
        rests = once.rests(has_window=False)
        assert [often.rests(has_window=False) for _ in range(9)] == [rests] * 9
        for account in (once, often):
            book_rest(account) if rests else book_branches(account, 1)


def test_what_was_held_up_by_something_else_is_not_booked_in_full() -> None:
    once, always = Ledger(), Ledger()
    for ledger in (once, always):
        for _ in range(WARM_UPS):
            ledger.book(1, 36.0, 1.5)  # the first late steps pay for what later ones reuse
            assert ledger.balance > OPENING - 2
        before = ledger.balance
        ledger.book(3, 36.0, 1.5)
        assert before - 3.5 < ledger.balance < before
    once.book(1, 1.5, 1.5)
    once.book(3, 36.0, 1.5)
    always.book(3, 36.0, 1.5)
    assert always.balance == -MAX_DEBT < once.balance


def test_the_first_steps_of_a_model_cost_what_was_expected() -> None:
    """Half as dear again, they would end the guessing of a first reply before it began."""
    ledger = Ledger()
    gains = [ledger.book(1, 2.5, 1.5) for _ in range(WARM_UPS + 1)]
    assert gains == [-0.5] * WARM_UPS + [-1.5]
    cheaper = Ledger()
    assert cheaper.book(1, 1.2, 1.5) == pytest.approx(-0.2)


def test_the_less_a_text_has_earned_the_more_a_step_has_to_promise() -> None:
    account, margins = Account(StepCost({1: 1.0, 2: 1.0}, live=False)), list[float]()
    for _ in range(10):
        margins.append(account.margin)
        book_branches(account, 3)
    assert margins == sorted(margins, reverse=True)
    assert margins[0] > 0 == margins[-1]


def test_estimates_are_trusted_as_far_as_they_come_true() -> None:
    bold, right = Account(StepCost(FLAT)), Account(StepCost(FLAT))
    for _ in range(40):
        book_branches(bold, 2, promised=2.0)
        book_branches(right, 3, promised=2.0)
    assert bold.calibration == pytest.approx(0.5, abs=0.05)
    assert right.calibration == pytest.approx(1.0, abs=0.05)
