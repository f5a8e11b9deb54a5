"""The budgeted step, which is the default: all sources at work, and plain steps where nothing pays."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from decoding import (
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    Session,
    Step,
    StepCost,
    step_cost_of,
)
from decoding.costs.step_cost import MAX_CANDIDATES
from decoding.drafting import context_ngrams as context_module
from decoding.drafting import ngram_pool as trajectory_module
from decoding.drafting import successors as successors_module
from decoding.drafting import window_choice
from decoding.drafting.expander import CandidateExpander
from decoding.drafting.window_choice import WINDOW_SIZES
from decoding.planning import budgeted_planner
from decoding.planning.budgeted_planner import MAX_TAILS
from decoding.planning.candidate_budget import select
from tests.costs import DEAR, NEARLY_FREE, PROHIBITIVE, budgeted, fixed_cost
from tests.models import (
    CYCLE,
    VOCABULARY,
    cycling_model,
    hf_greedy,
    random_model,
    random_prompt,
    reciting_model,
    tokens_of,
)

FIXED = LookaheadConfig(4, 4, 4)


def watched(
    monkeypatch: pytest.MonkeyPatch, model: Any, prompt: list[int], count: int, seconds: Mapping[int, float]
) -> tuple[list[Step], list[bool]]:
    """Steps after the prompt's, and whether candidates were looked for in each."""
    looks, steps, awake = list[CandidateExpander](), list[Step](), list[bool]()

    def look(expander: CandidateExpander, *arguments: Any) -> Any:
        looks.append(expander)
        return select(expander, *arguments)

    monkeypatch.setattr(budgeted_planner, "select", look)
    for step in budgeted(model, seconds).generate(prompt, max_new_tokens=count):
        steps.append(step)
        awake.append(bool(looks))
        looks.clear()
    return steps, awake[1:]


def test_every_source_is_at_work() -> None:
    """The window finds what no text has shown; what comes again is found in context, or follows as it did before."""
    draw = Random(5)
    new = [draw.randrange(3, VOCABULARY) for _ in range(150)]
    text = [*new, *new[60:]]
    steps = list(budgeted(reciting_model(text), NEARLY_FREE).generate(text[:2], max_new_tokens=len(text) - 2))
    assert tokens_of(steps) == text[2:]
    assert {origin for step in steps for origin in step.origins} == set(Origin)
    windows = {step.window_size for step in steps if step.ngram_size}
    assert min(windows) < max(windows) == WINDOW_SIZES[-1][0]


@pytest.mark.parametrize(("seconds", "width"), [(DEAR, 4), (NEARLY_FREE, 8)])
def test_more_of_a_row_is_learnt_where_tokens_are_nearly_free(seconds: Mapping[int, float], width: int) -> None:
    session = Session(cycling_model())
    list(budgeted(session.model, seconds).generate(CYCLE, max_new_tokens=4, session=session))
    successors = [len(found) for _, found, _ in session.tables[Origin.SUCCESSOR].entries()]
    assert set(successors) == {width}


def test_a_dear_machine_verifies_little_and_a_fast_one_much() -> None:
    model, prompt = random_model("llama"), random_prompt(23)
    dear, free = (list(budgeted(model, cost).generate(prompt, max_new_tokens=60)) for cost in (DEAR, NEARLY_FREE))
    assert tokens_of(dear) == tokens_of(free)
    assert len(free) < len(dear) < 60
    assert max(step.candidates for step in dear) < 30 < max(step.candidates for step in free) <= MAX_CANDIDATES


@pytest.mark.parametrize("seconds", [DEAR, NEARLY_FREE])
def test_the_same_costs_lead_to_the_same_steps(seconds: Mapping[int, float]) -> None:
    model, told = random_model("phi3-sliding"), []
    for _ in range(2):
        session, decoder = Session(model), budgeted(model, seconds)
        steps = [
            step
            for seed in (0, 1)
            for step in decoder.generate(random_prompt(19, seed), max_new_tokens=50, session=session)
        ]
        told.append([(step.tokens, step.origins, step.forward_tokens, step.window_size) for step in steps])
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("plain_seconds", "each", "from_logits"), [(5e-4, 0.01, False), (5e-2, 0.01, True), (5e-2, 0.1, False)]
)
def test_where_steps_are_quick_or_tokens_dear_guesses_come_from_texts_alone(
    plain_seconds: float, each: float, from_logits: bool
) -> None:
    model, prompt = random_model("llama"), random_prompt(24) * 2
    cost = StepCost({size: plain_seconds * (1 + each * (size - 1)) for size in (1, 8, 64)})
    steps = list(LookaheadDecoder(model, cost=cost).generate(prompt, max_new_tokens=120))
    assert tokens_of(steps) == hf_greedy(model, prompt, 120)
    assert any(step.candidates for step in steps)
    assert (steps[-1].table_sizes[Origin.SUCCESSOR] > 0) is from_logits


def test_more_is_expected_after_three_tokens_met_before_or_two_that_were_followed_alike() -> None:
    index = context_module.ContextIndex()
    index.extend([1, 2, 3, 4, 1, 2, 5, 2, 3])
    assert not index.expects_more()  # 2 3 was met once, and 5 2 3 is new
    for more, known in ((4, True), (1, True), (2, True), (3, True), (4, True), (9, False), (2, False), (3, True)):
        index.extend([more])
        assert index.expects_more() is known, more
    index.extend([8, 2, 3])
    assert not index.expects_more()  # 2 3 was followed by 4 and by 8


def test_of_other_texts_four_tokens_are_wanted_for_more_to_be_expected() -> None:
    index = context_module.ContextIndex()
    index.fill([[1, 2, 3, 4, 5], [9, 2, 3, 4, 5]])
    index.extend([7, 2, 3, 4])
    assert not index.expects_more()
    index.extend([5])
    assert index.expects_more()
    index.extend([8, 2, 3, 4])
    assert index.expects_more()  # three of this text


def test_a_step_is_booked_under_the_tokens_that_it_held() -> None:
    class Noted(StepCost):
        held: list[int]

        def observe(self, tokens: int, seconds: float, steps: int = 1) -> None:
            self.held.append(tokens)

    cost = Noted(NEARLY_FREE)
    cost.held = []
    model = random_model("olmo2")
    steps = list(LookaheadDecoder(model, cost=cost).generate(random_prompt(19), max_new_tokens=60))
    # Behind the prompt's, a text's first step holds more than its forward pass.
    wide = [step.forward_tokens for step in steps[2:] if step.forward_tokens > 1]
    assert wide
    assert [tokens for tokens in cost.held if tokens > 1] == wide
    assert {step.window_size for step in steps} > {0}


def test_live_steps_teach_the_cost_unless_it_is_fixed() -> None:
    model = random_model("llama")
    cost, fixed = StepCost(DEAR), fixed_cost(DEAR)
    for each in (cost, fixed):
        list(LookaheadDecoder(model, cost=each).generate(random_prompt(19), max_new_tokens=100))
    assert cost.as_dict() != StepCost(DEAR).as_dict()
    assert fixed.as_dict() == StepCost(DEAR).as_dict()


def test_without_a_cost_the_models_own_is_measured_once() -> None:
    model, prompt = random_model("gpt2"), random_prompt(19)
    for _ in range(2):
        assert tokens_of(LookaheadDecoder(model).generate(prompt, max_new_tokens=12)) == hf_greedy(model, prompt, 12)
    assert step_cost_of(model) is step_cost_of(model)


def test_it_wakes_up_once_something_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of few enough tokens that something is always proposed; then the same twice more; then other noise."""
    draw = Random(0)
    noise, other = ([draw.randrange(3, 9) for _ in range(100)] for _ in range(2))
    text = [*noise * 3, *other]
    steps, awake = watched(monkeypatch, reciting_model(text), text[:4], len(text) - 4, {1: 1.0, 2: 1.6, 64: 5.0})
    assert tokens_of(steps) == text[4:]
    rests_before = awake.index(False)
    paid = [index for index in range(rests_before, len(awake)) if steps[1 + index].accepted > 1]
    assert sum(steps[1 + index].accepted for index in paid) > 50
    assert all(awake[paid[0] : paid[-1] + 1])


def test_a_window_goes_where_the_positions_end() -> None:
    """Positions alone speak, and nothing in the text comes again."""
    draw = Random(2)
    text = [draw.randrange(3, VOCABULARY) for _ in range(150)]
    session = Session(reciting_model(text))
    looked = []
    for step in budgeted(session.model, NEARLY_FREE).generate(text[:2], max_new_tokens=148, session=session):
        looked.append((len(text) - len(session.ids) + len(step.tokens), step.window_size, step.candidates))
    assert session.ids == text
    assert max(window for _, window, _ in looked) == WINDOW_SIZES[-1][0]
    last_window = max(at for at, (_, window, _) in enumerate(looked) if window)
    # Where it no longer fits, candidates still do.
    room, window, _ = looked[last_window]
    assert window <= room
    assert sum(bool(candidates) for room, _, candidates in looked[last_window + 1 :] if room < window) > 1


def test_a_window_that_finds_nothing_new_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_choice, "TRIAL_STEPS", 6)
    steps = list(budgeted(cycling_model(), NEARLY_FREE).generate([10], max_new_tokens=250))
    sizes = [step.window_size for step in steps]
    assert max(sizes) == WINDOW_SIZES[-1][0]
    assert sizes.index(WINDOW_SIZES[-1][0]) < len(sizes) - 1 - sizes[::-1].index(0)


def test_sizes_that_are_given_stay_the_papers() -> None:
    """Whatever steps cost: W, N and G are what they are, and neither successors nor estimates play a part."""
    model, prompt, told = random_model("qwen2"), random_prompt(19), []
    for seconds in (PROHIBITIVE, NEARLY_FREE):
        session = Session(model)
        decoder = LookaheadDecoder(model, FIXED, cost=fixed_cost(seconds))
        steps = list(decoder.generate(prompt, max_new_tokens=50, session=session))
        told.append([(step.tokens, step.origins, step.forward_tokens) for step in steps])
        looked = [step for step in steps if step.ngram_size]
        assert {(step.window_size, step.ngram_size) for step in looked} == {(4, 4)}
        assert all(step.candidates <= 4 * 3 and step.accepted <= 3 for step in looked)
        assert not any(Origin.SUCCESSOR in step.origins for step in steps)
        assert len(session.tables[Origin.SUCCESSOR]) == 0
        assert len(session.tables[Origin.TRAJECTORY]) > 0
    assert told[0] == told[1]


def test_memory_stays_bounded_however_long_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds are lowered, so that a short run reaches all of them again and again."""
    monkeypatch.setattr(trajectory_module, "MAX_KEYS", 5)
    monkeypatch.setattr(context_module, "MAX_TOKENS", 60)
    monkeypatch.setattr(successors_module, "MAX_ENTRIES", 8)
    model = random_model("phi3-sliding")
    session, decoder = Session(model), budgeted(model, NEARLY_FREE)
    tables, held = session.tables, set()
    for seed in range(5):
        prompt, said = random_prompt(30, seed), list[int]()
        for step in decoder.generate(prompt, max_new_tokens=60, session=session):
            said += step.tokens
            assert len(tables[Origin.SUCCESSOR]) <= 8
            assert len(tables[Origin.CONTEXT]) <= 60
            assert len(tables[Origin.TRAJECTORY]) <= 5 * MAX_TAILS
            held.add((len(tables[Origin.SUCCESSOR]), len(tables[Origin.TRAJECTORY]) > 5))
        assert said == hf_greedy(model, prompt, 60)
    assert (8, True) in held
