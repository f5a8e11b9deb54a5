"""Lookahead decoding step by step, on models that say what the test wants: what is accepted, and where it came from."""

from __future__ import annotations

import pytest

from decoding import AutoregressiveDecoder, FinishReason, LookaheadConfig, LookaheadDecoder, Origin, Session
from tests.models import random_model, random_prompt, reciting_model, successor_model, tokens_of

PLAIN, TRAJECTORY, CONTEXT = Origin.PLAIN, Origin.TRAJECTORY, Origin.CONTEXT


def test_never_accepted_every_token_is_plain():
    """Nothing repeats and there is no window: nothing can be proposed."""
    model = reciting_model(list(range(3, 90)))
    steps = list(LookaheadDecoder(model, LookaheadConfig(0, 4, 3)).generate([3, 4, 5], max_new_tokens=20))
    assert tokens_of(steps) == list(range(6, 26))
    assert all(step.origins == (PLAIN,) for step in steps)


def test_always_accepted_a_full_match_keeps_its_bonus_token():
    """A cycle that the prompt shows in full: every step after the prefill accepts N-1 tokens, and one more."""
    cycle = [10, 11, 12, 13, 14, 15]
    model = successor_model(dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True)))
    steps = list(LookaheadDecoder(model, LookaheadConfig(0, 4, 2)).generate(cycle * 3, max_new_tokens=13))
    assert [len(step.tokens) for step in steps] == [1, 4, 4, 4]
    assert [step.origins for step in steps[1:]] == [(CONTEXT, CONTEXT, CONTEXT, PLAIN)] * 3
    assert tokens_of(steps) == (cycle * 4)[:13]


def test_sometimes_accepted_the_run_ends_where_the_model_disagrees():
    """The prompt says 10 11 12 20, the model 10 11 12 13: two of three candidates stand, then the model's own."""
    model = successor_model({10: 11, 11: 12, 12: 13, 13: 14, 14: 15})
    steps = list(LookaheadDecoder(model, LookaheadConfig(0, 4, 1)).generate([10, 11, 12, 20, 9, 10], max_new_tokens=4))
    assert [step.tokens for step in steps] == [(11,), (12, 13), (14,)]
    assert [step.origins for step in steps] == [(PLAIN,), (CONTEXT, PLAIN), (PLAIN,)]


def test_the_window_alone_finds_what_no_text_has_shown():
    """Positions alone speak, so the first window row is right at once and its n-grams are accepted."""
    text = [3 + (i * 7) % 61 for i in range(80)]
    model = reciting_model(text)
    steps = list(LookaheadDecoder(model, LookaheadConfig(6, 3, 4)).generate(text[:4], max_new_tokens=40))
    assert tokens_of(steps) == text[4:44]
    assert {origin for step in steps for origin in step.origins} >= {PLAIN, TRAJECTORY}
    assert any(step.origins == (TRAJECTORY, TRAJECTORY, PLAIN) for step in steps)


def test_candidates_are_used_from_the_first_step_on():
    cycle = [10, 11, 12, 13]
    model = successor_model({10: 11, 11: 12, 12: 13, 13: 10})
    steps = list(LookaheadDecoder(model, LookaheadConfig(5, 5, 3)).generate(cycle * 4, max_new_tokens=10))
    assert steps[1].accepted > 0


def test_earlier_turns_are_a_source_too():
    model = successor_model({a: a + 1 for a in range(10, 60)})
    session = Session(model)
    decoder = LookaheadDecoder(model, LookaheadConfig(0, 5, 3))
    first = list(decoder.generate([9, 10], max_new_tokens=20, session=session))
    assert sum(step.accepted for step in first) == 0
    second = list(decoder.generate([60, 61, 12], max_new_tokens=15, session=session))
    assert [step.origins[0] for step in second[1:]] == [CONTEXT] * 3


@pytest.mark.parametrize("ending", [13, 14, 15])
def test_any_end_of_sequence_inside_an_accepted_run_ends_the_reply(ending):
    cycle = [10, 11, 12, 13, 14, 15, 16]
    model = successor_model(dict(zip(cycle, [*cycle[1:], cycle[0]], strict=True)))
    session = Session(model)
    steps = list(
        LookaheadDecoder(model, LookaheadConfig(0, 7, 3)).generate(
            [*cycle, *cycle, 10, 11], max_new_tokens=50, eos_token_ids=[95, ending, 90], session=session
        )
    )
    said = tokens_of(steps)
    assert said == list(range(12, ending + 1))
    assert steps[-1].finish_reason is FinishReason.EOS
    assert len(steps[-1].tokens) == len(steps[-1].origins)
    assert session.ids[-1] == ending
    assert session.cached == len(session.ids) - 1


@pytest.mark.parametrize("decoder_of", [AutoregressiveDecoder, LookaheadDecoder])
@pytest.mark.parametrize("limit", [1, 2, 3, 7, 20])
def test_max_new_tokens_is_exact(decoder_of, limit):
    cycle = [10, 11, 12]
    model = successor_model({10: 11, 11: 12, 12: 10})
    steps = list(decoder_of(model).generate(cycle * 4, max_new_tokens=limit))
    assert len(tokens_of(steps)) == limit
    assert [step.finish_reason for step in steps] == [None] * (len(steps) - 1) + [FinishReason.LENGTH]


def test_an_end_of_sequence_at_the_very_limit_is_an_end_of_sequence():
    model = successor_model({10: 11, 11: 12})
    *_, last = AutoregressiveDecoder(model).generate([10], max_new_tokens=2, eos_token_ids=12)
    assert last.finish_reason is FinishReason.EOS


def test_steps_tell_what_the_forward_held():
    model = random_model("llama", layers=1)
    steps = list(LookaheadDecoder(model, LookaheadConfig(7, 5, 7)).generate(random_prompt(20), max_new_tokens=40))
    assert steps[0].prefill
    assert steps[0].forward_tokens == 20
    for index, step in enumerate(steps[1:-2]):
        rows = min(index + 1, 4)
        assert step.forward_tokens == 1 + step.candidates + 7 * rows
        assert (step.window_size, step.ngram_size) == (7, 5)
    assert steps[-1].pool_size > 0
    assert steps[-1].table_sizes[Origin.CONTEXT] >= 55
    for step in steps:
        assert 0 < step.forward_seconds <= step.seconds
        assert len(step.tokens) == len(step.origins) == step.accepted + 1 or step.finish_reason


def test_at_most_g_continuations_are_verified():
    model = random_model("llama", layers=1)
    for guesses in (1, 2, 5):
        config = LookaheadConfig(9, 4, guesses)
        for step in LookaheadDecoder(model, config).generate(random_prompt(40), max_new_tokens=40):
            assert step.candidates <= guesses * 3


@pytest.mark.parametrize(
    ("sizes", "offender"),
    [
        ({"window_size": -1}, "window_size"),
        ({"ngram_size": 1}, "ngram_size"),
        ({"guess_set_size": -1}, "guess_set_size"),
        ({"window_size": 2.5}, "window_size"),
        ({"ngram_size": True}, "ngram_size"),
    ],
)
def test_sizes_out_of_range_are_named(sizes, offender):
    with pytest.raises(ValueError, match=offender):
        LookaheadConfig(**sizes)
