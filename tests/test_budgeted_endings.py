"""Budgeted decoding ends where it is told, and goes on from anywhere, with the same text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from decoding import (
    AutoregressiveDecoder,
    FinishReason,
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    Session,
)
from decoding.drafting.window_choice import WINDOW_SIZES
from tests.costs import DEAR, NEARLY_FREE, PROHIBITIVE, budgeted, fixed_cost
from tests.models import (
    CYCLE,
    cycling_model,
    hf_greedy,
    random_model,
    random_prompt,
    tokens_of,
)
from tests.pairs import pairs


@pytest.mark.parametrize(("limit", "seconds"), pairs([1, 2, 3, 7, 20, 61], [DEAR, NEARLY_FREE, PROHIBITIVE]))
def test_max_new_tokens_is_exact(limit: int, seconds: Mapping[int, float]) -> None:
    session = Session(cycling_model())
    steps = list(budgeted(session.model, seconds).generate(CYCLE * 3, max_new_tokens=limit, session=session))
    assert tokens_of(steps) == (CYCLE * 10)[:limit]
    assert [step.finish_reason for step in steps] == [None] * (len(steps) - 1) + [FinishReason.LENGTH]
    assert session.ids == (CYCLE * 13)[: 21 + limit]
    assert session.cached == len(session.ids) - 1


@pytest.mark.parametrize("ending", CYCLE[2:])
def test_an_end_of_sequence_inside_an_accepted_run_ends_the_reply(ending: int) -> None:
    session = Session(cycling_model())
    decoder = budgeted(session.model, NEARLY_FREE)
    steps = list(decoder.generate([*CYCLE, *CYCLE, 10], max_new_tokens=50, eos_token_ids=[ending, 90], session=session))
    assert tokens_of(steps) == list(range(11, ending + 1))
    assert steps[-1].finish_reason is FinishReason.EOS
    assert len(steps[-1].tokens) == len(steps[-1].origins) > 1 or ending == 12
    assert steps[-1].origins[-1] is not Origin.PLAIN or ending == 12
    assert session.ids[-1] == ending
    assert session.cached == len(session.ids) - 1
    # What was cut off is forgotten: the text goes on from the ending token.
    assert tokens_of(decoder.generate(session.ids, max_new_tokens=5, session=session)) == [
        CYCLE[(ending - 10 + ahead) % 7] for ahead in range(1, 6)
    ]


def test_lookahead_may_be_switched_on_and_off_in_mid_reply() -> None:
    model, prompt = random_model("mistral"), random_prompt(19)
    decoders = [
        budgeted(model, NEARLY_FREE),
        AutoregressiveDecoder(model),
        budgeted(model, DEAR),
        LookaheadDecoder(model, LookaheadConfig(4, 4, 4)),
        budgeted(model, PROHIBITIVE),
    ]
    expected = hf_greedy(model, prompt, 90)
    session, said = Session(model), list[int]()
    for turn in range(90):
        steps = decoders[turn % 5].generate(session.ids or prompt, max_new_tokens=90 - len(said), session=session)
        for _, step in zip(range(4), steps, strict=False):
            said += step.tokens
        steps.close()  # type: ignore[attr-defined]
        if len(said) == 90:
            break
    assert said == expected
    assert session.emitted == 90


def test_closed_at_any_step_and_resumed_the_text_is_the_same() -> None:
    model, prompt = random_model("gemma2"), random_prompt(19)
    expected = hf_greedy(model, prompt, 50)
    for stop_after in range(1, 14, 2):
        session, decoder, said = Session(model), budgeted(model, NEARLY_FREE), list[int]()
        steps = decoder.generate(prompt, max_new_tokens=50, session=session)
        for _, step in zip(range(stop_after), steps, strict=False):
            said += step.tokens
        steps.close()  # type: ignore[attr-defined]
        if len(said) < 50:
            said += tokens_of(decoder.generate(session.ids, max_new_tokens=50 - len(said), session=session))
        assert said == expected
        assert session.ids == [*prompt, *expected]


def test_a_copy_goes_on_alike_and_learns_on_its_own() -> None:
    model, prompt = random_model("olmo2"), random_prompt(19)
    session, decoder = Session(model), budgeted(model, NEARLY_FREE)
    steps = decoder.generate(prompt, max_new_tokens=60, session=session)
    said = tokens_of(step for _, step in zip(range(9), steps, strict=False))
    other, third = session.copy(), session.copy()
    rest = tokens_of(steps)
    # Whatever the first has learnt meanwhile, the copies' steps are those of the moment of copying.
    again = [
        [
            (step.tokens, step.origins, step.forward_tokens)
            for step in decoder.generate(copy.ids, max_new_tokens=60 - len(said), session=copy)
        ]
        for copy in (other, third)
    ]
    assert again[0] == again[1]
    assert [*said, *rest] == [*said, *(token for step in again[0] for token in step[0])] == hf_greedy(model, prompt, 60)


@pytest.mark.parametrize(("family", "seconds"), pairs(["llama", "gpt2"], [DEAR, NEARLY_FREE]))
def test_no_branch_reaches_past_the_last_position(family: str, seconds: Mapping[int, float]) -> None:
    """A model with learnt positions ends there, another goes on; a window may be in force when a text begins."""
    positions, reached = 48, list[int]()
    model = random_model(family, positions=positions)

    def note(_model: object, _args: object, given: dict[str, Any]) -> None:
        if given["position_ids"].numel() > 1:
            reached.append(int(given["position_ids"].max()))

    session, decoder = Session(model), budgeted(model, seconds)
    assert decoder.support.supported
    for seed, length in enumerate((9, 12, 41, 44, 46)):
        prompt, count = random_prompt(length, seed), positions - length + (1 if family == "gpt2" else 9)
        expected = hf_greedy(model, prompt, count)
        hook = model.register_forward_pre_hook(note, with_kwargs=True)
        said = tokens_of(decoder.generate(prompt, max_new_tokens=positions, session=session))
        hook.remove()
        assert said[:count] == expected
        assert len(said) == (count if family == "gpt2" else positions)
    assert positions - 20 <= max(reached) < positions


def test_a_window_that_does_not_fit_before_the_last_position_is_given_up_for_candidates() -> None:
    model = random_model("gpt2", positions=60)
    session = Session(model)
    choice = session.tables.window_choice
    choice.begin(fixed_cost(NEARLY_FREE).in_plain_steps, None)
    assert choice.sizes == WINDOW_SIZES[-1]
    text = random_prompt(7) * 7
    steps = list(budgeted(model, NEARLY_FREE).generate(text, max_new_tokens=8, session=session))
    assert any(step.candidates for step in steps)
    assert tokens_of(steps) == hf_greedy(model, text, 8)
