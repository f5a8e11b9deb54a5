"""What a step tells whoever observes it: the tree, the window and the mask agree with the step that came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    SamplingConfig,
    Session,
    Step,
    StepCost,
    StepDetail,
)
from decoding.model.step_inputs import StepInputs
from tests.costs import DEAR, NEARLY_FREE, PROHIBITIVE, budgeted
from tests.models import CYCLE, cycling_model, random_model, random_prompt

COUNT = 40


def observed(
    decoder: Decoder, prompt: Sequence[int], **arguments: Any
) -> Iterator[tuple[int, Step, StepDetail | None]]:
    """Each step with the place of its first token in the text, and what was told of it."""
    told: list[StepDetail] = []
    place = len(prompt)
    arguments = {"max_new_tokens": COUNT, **arguments}
    for step in decoder.generate(prompt, observe=told.append, **arguments):
        assert len(told) <= 1
        yield place, step, told.pop() if told else None
        place += len(step.tokens)


DECODERS = {
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(4, 4, 4)),
    "no window": lambda model: LookaheadDecoder(model, LookaheadConfig(0, 4, 4)),
    "budget": lambda model: budgeted(model, NEARLY_FREE),
    "dear": lambda model: budgeted(model, DEAR),
}
MODELS = {"random": lambda: random_model("llama", layers=1), "cycling": cycling_model}


@pytest.mark.parametrize("kind", DECODERS)
@pytest.mark.parametrize("name", MODELS)
def test_the_detail_is_that_of_its_step(name: str, kind: str) -> None:
    prompt = CYCLE if name == "cycling" else random_prompt(23)
    accepted = 0
    for place, step, detail in observed(DECODERS[kind](MODELS[name]()), prompt):
        if detail is None:
            assert step.prefill or step.finish_reason is not None
            continue
        assert detail.position == place - 1
        assert detail.settled[: len(step.tokens)] == step.tokens
        assert tuple(detail.origins[node - 1] for node in detail.accepted)[: step.accepted] == tuple(
            origin for origin in step.origins if origin is not Origin.PLAIN
        )
        assert len(detail.candidates) == len(detail.parents) == step.candidates
        assert len(detail.new_row) == step.window_size
        assert all(len(row) == step.window_size for row in detail.rows)
        assert 1 + len(detail.candidates) + sum(map(len, detail.rows)) == step.forward_tokens
        assert detail.visible.shape == (step.forward_tokens, step.forward_tokens)
        path = [0, *detail.accepted]
        assert [detail.parents[node - 1] for node in detail.accepted] == path[:-1]
        accepted += len(detail.accepted)
    assert accepted > 0


def test_the_mask_is_that_of_the_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[StepInputs] = []
    original = Session.forward_branches

    def forward_branches(session: Session, inputs: StepInputs) -> Any:
        laid_out.append(inputs)
        return original(session, inputs)

    monkeypatch.setattr(Session, "forward_branches", forward_branches)
    decoder = LookaheadDecoder(random_model("llama", layers=1), LookaheadConfig(3, 3, 3))
    details = [detail for _, _, detail in observed(decoder, random_prompt(23)) if detail and detail.rows]
    assert len(details) == len(laid_out) > 10
    for detail, inputs in zip(details, laid_out, strict=True):
        assert (detail.visible == inputs.visible).all()
        assert [detail.last_token, *detail.candidates, *(t for row in detail.rows for t in row)] == inputs.token_ids


def test_the_ngrams_are_those_that_the_pool_learns() -> None:
    model = random_model("llama", layers=1)
    session = Session(model)
    decoder = LookaheadDecoder(model, LookaheadConfig(3, 3, 50))
    for _, _, detail in observed(decoder, random_prompt(23), session=session):
        if detail is not None:
            for key, *tail in detail.ngrams:
                assert tuple(tail) in session.tables[Origin.TRAJECTORY].after(key)


def test_the_window_moves_by_the_row_that_the_model_chose() -> None:
    decoder = LookaheadDecoder(random_model("llama", layers=1), LookaheadConfig(3, 4, 3))
    details = [detail for _, _, detail in observed(decoder, random_prompt(23)) if detail]
    for before, after in pairwise(details):
        assert list(map(list, after.rows)) == list(map(list, [*before.rows, before.new_row]))[-3:]


def test_the_budget_tells_what_it_expected() -> None:
    for _, step, detail in observed(budgeted(random_model("llama", layers=1), DEAR), random_prompt(23)):
        if detail is None:
            continue
        assert detail.curve is not None
        probabilities = detail.probabilities
        assert len(probabilities) == step.candidates
        assert all(0 < p <= 1 for p in probabilities)
        assert list(probabilities) == sorted(probabilities, reverse=True)
        assert detail.curve.costs[step.candidates] >= 1
    fixed = LookaheadDecoder(random_model("llama", layers=1), LookaheadConfig(3, 3, 3))
    details = [detail for _, _, detail in observed(fixed, random_prompt(23)) if detail]
    assert {(detail.curve, detail.probabilities) for detail in details} == {(None, ())}


def test_a_step_that_took_no_candidates_is_told_of_too() -> None:
    details = [
        d for _, _, d in observed(budgeted(random_model("llama", layers=1), PROHIBITIVE), random_prompt(23)) if d
    ]
    assert details
    for detail in details:
        assert detail.candidates == detail.accepted == detail.rows == detail.ngrams == ()
        assert len(detail.settled) == 1
        assert detail.curve is not None
        assert detail.probabilities == ()
        assert detail.visible.tolist() == [[True]]


def test_a_step_in_which_nothing_was_looked_for_has_nothing_to_tell() -> None:
    """Once guessing has lost what it may, the decoder rests: that is plain decoding: for who is observed, too."""
    cost = StepCost(NEARLY_FREE, live=False)
    cost.balance = -1.0
    decoder = LookaheadDecoder(random_model("llama", layers=1), cost=cost)
    assert [detail for _, _, detail in observed(decoder, random_prompt(23))].count(None) > COUNT // 2


@pytest.mark.parametrize("sampling", [None, SamplingConfig(temperature=1.0, seed=3)])
def test_nothing_changes_for_being_observed(sampling: SamplingConfig | None) -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(23)
    decoder = budgeted(model, NEARLY_FREE)
    alone = [(step.tokens, step.origins) for step in decoder.generate(prompt, max_new_tokens=COUNT, sampling=sampling)]
    seen = [(step.tokens, step.origins) for _, step, _ in observed(decoder, prompt, sampling=sampling)]
    assert seen == alone


def test_plain_decoding_has_nothing_to_tell() -> None:
    decoder = AutoregressiveDecoder(random_model("llama", layers=1))
    assert all(detail is None for _, _, detail in observed(decoder, random_prompt(23), max_new_tokens=8))
