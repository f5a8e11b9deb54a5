"""Jacobi decoding: exact, a block settling from the left, and every iteration there to be looked at."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest

from decoding import (
    AutoregressiveDecoder,
    FinishReason,
    JacobiDecoder,
    Origin,
    SamplingConfig,
    Session,
)
from tests.costs import budgeted
from tests.models import hf_greedy, random_model, random_prompt, reciting_model, successor_model, tokens_of

LENGTH = 24


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3", "gpt2"])
def test_every_block_size_says_what_generate_says(family):
    model, prompt = random_model(family), random_prompt(23)
    expected = hf_greedy(model, prompt, LENGTH)
    for size in (1, 2, 7, 16, 64) if family == "llama" else (7, 64):
        steps = list(JacobiDecoder(model, size).generate(prompt, max_new_tokens=LENGTH))
        assert tokens_of(steps) == expected, size
        assert all(len(step.tokens) <= size + 1 for step in steps)


def test_no_argument_is_needed_but_the_model():
    steps = list(JacobiDecoder(random_model("llama", layers=1)).generate(random_prompt(9), max_new_tokens=20))
    assert len(tokens_of(steps)) == 20
    assert {step.candidates for step in steps[1:3]} == {16}


@pytest.mark.parametrize("sampling", [None, SamplingConfig(temperature=0.9, repetition_penalty=1.2, seed=4)])
def test_the_trajectory_tells_the_whole_story(sampling):
    model, prompt, seen = random_model("llama", layers=1), random_prompt(23), []
    decoder = JacobiDecoder(model, 8, on_iteration=seen.append)
    steps = list(decoder.generate(prompt, max_new_tokens=LENGTH, sampling=sampling))
    text = [*prompt, *tokens_of(steps)]
    # The prompt's last chunk gives the first token, and the last one may be left to a plain step.
    assert len(steps) - 2 <= len(seen) <= len(steps) - 1
    assert sum(iteration.settled for iteration in seen) >= LENGTH - 2
    for iteration in seen:
        assert len(iteration.after) == len(iteration.before) + 1
        settled, at = iteration.settled, iteration.position
        assert 1 <= settled <= len(iteration.after)
        assert list(iteration.after[:settled]) == text[at : at + settled]
        assert iteration.before[: settled - 1] == iteration.after[: settled - 1]
    for one, following in pairwise(seen):
        assert following.position == one.position + one.settled
        left = one.after[one.settled :][: len(following.before)]
        assert following.before[: len(left)] == left


def test_an_iteration_is_a_frozen_value():
    seen = []
    list(JacobiDecoder(random_model("llama", layers=1), 3, on_iteration=seen.append).generate([5, 6], max_new_tokens=6))
    with pytest.raises(dataclasses.FrozenInstanceError):
        seen[0].settled = 0


def test_the_fixed_point_is_reached_in_two_iterations_where_positions_alone_speak():
    """One to have every position right, one to see that nothing changes."""
    text = [3 + (i * 7) % 61 for i in range(60)]
    model, seen = reciting_model(text), []
    steps = list(JacobiDecoder(model, 8, on_iteration=seen.append).generate(text[:4], max_new_tokens=30))
    assert tokens_of(steps) == text[4:34]
    first, second = seen[:2]
    assert (first.settled, second.settled) == (1, 9)
    assert list(first.after) == text[5:14]
    assert steps[2].origins == (Origin.TRAJECTORY,) * 8 + (Origin.PLAIN,)
    assert steps[2].accepted == 8


def test_each_iteration_settles_at_least_one_token_where_each_hangs_on_the_last():
    model = successor_model({a: a + 1 for a in range(10, 60)})
    steps = list(JacobiDecoder(model, 5).generate([10, 11], max_new_tokens=20))
    assert tokens_of(steps) == list(range(12, 32))
    assert all(step.tokens for step in steps)


@pytest.mark.parametrize("family", ["bloom", "mamba"])
def test_what_takes_no_branches_is_decoded_plainly(family):
    model, prompt = random_model(family), random_prompt(9)
    decoder = JacobiDecoder(model)
    assert decoder.support.reason
    steps = list(decoder.generate(prompt, max_new_tokens=8))
    assert tokens_of(steps) == hf_greedy(model, prompt, 8)
    assert {step.candidates for step in steps} == {0}


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_up_to_the_last_position_of_the_model(family):
    model, prompt = random_model(family), random_prompt(230)
    steps = list(JacobiDecoder(model).generate(prompt, max_new_tokens=26))
    assert tokens_of(steps) == hf_greedy(model, prompt, 26)


@pytest.mark.parametrize("limit", [1, 2, 3, 17, 18, 30])
def test_max_new_tokens_is_exact(limit):
    text = [3 + (i * 7) % 61 for i in range(60)]
    steps = list(JacobiDecoder(reciting_model(text)).generate(text[:4], max_new_tokens=limit))
    assert tokens_of(steps) == text[4 : 4 + limit]
    assert [step.finish_reason for step in steps] == [None] * (len(steps) - 1) + [FinishReason.LENGTH]


def test_an_end_of_sequence_inside_a_run_ends_the_text():
    text = [3 + (i * 7) % 61 for i in range(60)]
    model, seen = reciting_model(text), []
    session = Session(model)
    decoder = JacobiDecoder(model, on_iteration=seen.append)
    steps = list(decoder.generate(text[:4], max_new_tokens=40, eos_token_ids=[text[12], text[14]], session=session))
    assert tokens_of(steps) == text[4:13]
    assert steps[-1].finish_reason is FinishReason.EOS
    assert len(steps[-1].tokens) == len(steps[-1].origins) == seen[-1].settled
    assert session.cached == len(session.ids) - 1 == 12


def test_other_decoders_go_on_where_it_left_off():
    model, prompt = random_model("llama", layers=1), random_prompt(23)
    expected, said, session = hf_greedy(model, prompt, LENGTH), [], Session(model)
    decoders = [JacobiDecoder(model, 6), budgeted(model), AutoregressiveDecoder(model)]
    for turn in range(LENGTH):
        decoder = decoders[turn % 3]
        if len(said) == LENGTH:
            break
        steps = decoder.generate([*prompt, *said], max_new_tokens=LENGTH - len(said), session=session)
        said.extend(next(steps).tokens)
    assert said == expected


@pytest.mark.parametrize("size", [0, -1, 2.5, True])
def test_a_block_size_out_of_range_is_named(size):
    with pytest.raises(ValueError, match="block_size"):
        JacobiDecoder(random_model("llama", layers=1), size)
