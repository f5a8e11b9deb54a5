"""Compiled steps: shapes that stay the same, and a text, a cache and a session that are as they are without."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch

from decoding import (
    AutoregressiveDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    measure_step_cost,
)
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.model.step_inputs import AttentionPattern, StepInputs, additive_mask, write_mask
from decoding.planning import cost_probe
from decoding.runner import runner_of
from decoding.step import Origin
from decoding.torch_compile.static_prefix import (
    MIN_CAPACITY,
    SIZES,
    StaticKVCache,
    StaticPrefix,
    fewest_padded_to,
    padded,
    padded_size,
)
from tests.compiled_models import EAGER, model_of, small_model, static_prefix_of
from tests.models import assert_cache_is_the_prefix, hf_greedy, random_prompt, tokens_of

FAMILIES = ("llama", "gpt2", "qwen2-sliding")
"""A plain one, one with learnt positions, and one with a full and a sliding layer."""
LENGTH = 24


def both_branches() -> StepInputs:
    tree, window = CandidateTree(), JacobiWindow(2, 3, [11, 12])
    tree.add([5, 6], Origin.CONTEXT)
    tree.add([5, 7], Origin.CONTEXT)
    window.advance([13, 14])
    return StepInputs.from_branches(9, tree, window)


# --- shapes -------------------------------------------------------------------------------------------------------


def test_steps_are_padded_to_the_next_size() -> None:
    assert [padded_size(tokens) for tokens in (1, 2, 4, 5, 33, 256, 257)] == [1, 4, 4, 8, 64, 256, None]
    for size in SIZES:
        fewest = fewest_padded_to(size)
        assert padded_size(fewest) == size
        assert fewest == 1 or padded_size(fewest - 1) != size


def test_padding_is_the_first_row_again_and_nothing_sees_it() -> None:
    inputs = both_branches()
    step = padded(inputs, 16)
    assert len(step) == 16
    assert step.token_ids == [*inputs.token_ids, *[9] * 8]
    assert step.depths[8:] == [0] * 8
    assert (step.visible[:8, :8] == inputs.visible).all()
    assert (step.visible[8:] == step.visible[0]).all()
    assert not step.visible[:, 8:].any()
    assert step.logit_rows == inputs.logit_rows


@pytest.mark.parametrize(
    "pattern", [AttentionPattern(), AttentionPattern(sliding_window=4), AttentionPattern(chunk_size=4)]
)
def test_the_mask_is_the_usual_one_in_a_buffer_that_hides_the_rest(pattern: AttentionPattern) -> None:
    inputs, lowest = both_branches(), torch.finfo(torch.float64).min
    buffer = torch.full((1, 1, 16, 40), np.nan, dtype=torch.float64)
    for cached in (21, 10):
        write_mask(buffer, padded(inputs, 16), cached, pattern)
        usual = additive_mask(inputs, cached, pattern, torch.float64, torch.device("cpu"))
        assert torch.equal(buffer[:, :, :8, : cached + 8], usual)
        assert (buffer[:, :, :8, cached + 8 :] == lowest).all()
        assert torch.equal(buffer[:, :, 8:], buffer[:, :, :1].expand(1, 1, 8, 40))


def test_buffers_double_and_keep_what_they_hold() -> None:
    cache = StaticKVCache()
    states = torch.randn(1, 2, 30, 8)
    cache.update(states, states + 1, 0)
    assert cache.capacity == MIN_CAPACITY
    cache.make_room(MIN_CAPACITY)
    assert cache.capacity == MIN_CAPACITY
    cache.make_room(MIN_CAPACITY + 1)
    assert cache.capacity == 2 * MIN_CAPACITY
    assert cache.length == 30
    torch.testing.assert_close(cache.layers[0].keys, states)
    torch.testing.assert_close(cache.layers[0].values, states + 1)


def test_writing_at_slots_changes_no_length_and_gives_back_whole_buffers() -> None:
    cache, states = StaticKVCache(), torch.randn(1, 2, 3, 8)
    cache.update(states, states, 0)
    with cache.writing_at(torch.tensor([3, 4, 5])):
        keys, _ = cache.update(states + 1, states, 0)
        assert keys.shape == (1, 2, MIN_CAPACITY, 8)
        assert cache.get_seq_length() == 3
    assert cache.length == 3
    cache.hold(5)
    torch.testing.assert_close(cache.layers[0].keys, torch.cat([states, (states + 1)[..., :2, :]], dim=-2))


# --- the same text ------------------------------------------------------------------------------------------------


def test_a_text_outgrows_the_buffers() -> None:
    model, prompt = model_of("llama"), random_prompt(MIN_CAPACITY - 20)
    session = Session(model, compiled=EAGER)
    steps = LookaheadDecoder(model, LookaheadConfig(5, 4, 5)).generate(prompt, max_new_tokens=40, session=session)
    assert tokens_of(steps) == hf_greedy(model, prompt, 40)
    assert static_prefix_of(session).compiled
    assert static_prefix_of(session).cache.capacity == 2 * MIN_CAPACITY
    assert_cache_is_the_prefix(session)


def test_decoders_take_turns_and_texts_are_exchanged() -> None:
    model, prompt = model_of("llama"), random_prompt(19)
    session, said = Session(model, compiled=EAGER), []
    decoders = [AutoregressiveDecoder(model), LookaheadDecoder(model, LookaheadConfig(5, 4, 5))]
    for turn in range(40):
        if len(said) == LENGTH:
            break
        steps = decoders[turn % 2].generate(session.ids or prompt, max_new_tokens=LENGTH - len(said), session=session)
        said += [token for _ in range(3) if (step := next(steps, None)) for token in step.tokens]
        steps.close()
    assert said == hf_greedy(model, prompt, LENGTH)
    for other in ([*prompt[:14], *random_prompt(8, seed=5)], prompt[:14], [7]):
        steps = decoders[1].generate(other, max_new_tokens=12, session=session)
        assert tokens_of(steps) == hf_greedy(model, other, 12)


def test_a_copy_lives_a_life_of_its_own() -> None:
    model, prompt = model_of("llama"), random_prompt(19)
    session = Session(model, compiled=EAGER)
    decoder = LookaheadDecoder(model, LookaheadConfig(5, 4, 5))
    steps = decoder.generate(prompt, max_new_tokens=30, session=session)
    said = [*next(steps).tokens, *next(steps).tokens]
    other = session.copy()
    assert other.compiled == EAGER
    rest = tokens_of(steps)
    again = tokens_of(decoder.generate(other.ids, max_new_tokens=30 - len(said), session=other))
    assert [*said, *rest] == [*said, *again] == hf_greedy(model, prompt, 30)


def test_a_step_too_large_for_every_size_goes_the_usual_way() -> None:
    model, tree = model_of("llama"), CandidateTree()
    tree.add(random_prompt(SIZES[-1]), Origin.CONTEXT)
    inputs = StepInputs.from_branches(9, tree, JacobiWindow(0, 2, []))
    usual, static = Session(model).prefix, Session(model, compiled=EAGER).prefix
    for prefix in (usual, static):
        prefix.next_logits(random_prompt(9))
    assert isinstance(static, StaticPrefix)
    torch.testing.assert_close(static.branch_logits(inputs), usual.branch_logits(inputs))
    assert static.length == usual.length == 9 + SIZES[-1] + 1


def test_one_graph_serves_one_token_and_another_all_other_sizes() -> None:
    model = small_model("llama")
    with torch._dynamo.config.patch(recompile_limit=2):
        for capacity in (MIN_CAPACITY, 2 * MIN_CAPACITY):
            session = Session(model, compiled=EAGER)
            prompt = random_prompt(capacity // 2 + 9)
            for sizes in (LookaheadConfig(5, 4, 5), LookaheadConfig(15, 5, 15)):
                list(LookaheadDecoder(model, sizes).generate(prompt, max_new_tokens=12, session=session))
            assert static_prefix_of(session).compiled


# --- what else depends on it --------------------------------------------------------------------------------------


def test_the_cost_of_a_step_is_a_stair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_probe, "SIZES", (1, 16, 4, 2, 12))
    seconds = measure_step_cost(model_of("llama"), seconds=0.0, compiled=EAGER).as_dict()
    assert set(seconds) == {"1", "2", "4", "9", "16"}
    assert seconds["2"] == seconds["4"]
    assert seconds["9"] == seconds["16"]


def test_the_compiled_forward_does_not_keep_its_model_alive() -> None:
    model = small_model("llama")
    prefix = Session(model, compiled=EAGER).prefix
    for tokens in ([5, 6], [7]):
        prefix.next_logits(tokens)
    assert runner_of(model).compiled_forward(EAGER).reason is None
    alive = weakref.ref(model)
    del model, prefix
    gc.collect()
    assert alive() is None


# --- families: last, since what is compiled of one is compiled anew once another has run ---------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_compiled_steps_say_what_generate_says(family: str) -> None:
    model, prompt = model_of(family), random_prompt(23)
    expected = hf_greedy(model, prompt, LENGTH)
    for decoder in (AutoregressiveDecoder(model), LookaheadDecoder(model, LookaheadConfig(5, 4, 5))):
        session = Session(model, compiled=EAGER)
        assert tokens_of(decoder.generate(prompt, max_new_tokens=LENGTH, session=session)) == expected
        assert static_prefix_of(session).compiled


def test_after_every_step_the_cache_is_the_committed_prefix() -> None:
    model = model_of("qwen2-sliding")
    session, verified = Session(model, compiled=EAGER), 0
    decoder = LookaheadDecoder(model, LookaheadConfig(5, 4, 5))
    for step in decoder.generate(random_prompt(19), max_new_tokens=14, session=session):
        verified += step.accepted
        assert_cache_is_the_prefix(session)
    assert verified > 0


@torch.compiler.set_stance("force_eager")  # what is traced of this model, the tests of its family show
def test_in_half_precision_too_padding_is_finite_and_changes_nothing() -> None:
    model = small_model("qwen2-sliding", torch.bfloat16)
    usual, static = Session(model).prefix, Session(model, compiled=EAGER).prefix
    assert isinstance(static, StaticPrefix)
    for prefix in (usual, static):
        prefix.next_logits(random_prompt(21))
    for _ in range(2):
        expected, found = usual.branch_logits(both_branches()), static.branch_logits(both_branches())
        assert found.isfinite().all()
        assert (found - expected).abs().max() <= 0.1 * expected.abs().max()
        for layer in static.cache.layers:
            whole_keys, _ = layer.reserve(layer.length)
            assert whole_keys.isfinite().all()
        for prefix in (usual, static):
            assert prefix.length == 29
            prefix.rewind(21)
    assert static.compiled
