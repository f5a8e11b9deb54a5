"""Never slower: whatever the model says and steps take, lookahead decoding loses no more than the account allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from decoding import LookaheadDecoder, Session, Step, StepCost
from decoding.costs.step_cost import OPENING
from decoding.planning import budgeted_planner
from decoding.planning.account import (
    MAX_SLOWDOWN,
)
from decoding.planning.candidate_budget import select
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
