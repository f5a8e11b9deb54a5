"""Steps in C: what transformers computes, and what a plain step says bit for bit."""

from __future__ import annotations

import pytest
import torch

from decoding import (
    AutoregressiveDecoder,
    Origin,
    SamplingConfig,
    Session,
    native_support,
    packed_weight_bytes,
    prefill,
    prefilling,
)
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.model.step_inputs import StepInputs
from decoding.native.kernels import native_kernels
from decoding.native.ranked_rows import RANKED, row_of
from decoding.native.top_k import argmax_of_row, argmax_of_rows, largest
from decoding.native_forward.native_prefix import NativePrefix
from decoding.runner import runner_of
from decoding.sampling.draw import Warpers
from tests.costs import NEARLY_FREE, budgeted
from tests.models import tokens_of
from tests.native_models import CONFIGS, DECODERS, PROMPT, in_c, model_of, read_in_chunks, said
from tests.pairs import pairs

pytestmark = in_c

PRECISIONS = ("float32", "float32 of bfloat16", "bfloat16", "int8")


@pytest.mark.parametrize(("family", "precision"), pairs(CONFIGS, PRECISIONS))
@torch.inference_mode()
def test_a_text_has_the_logits_that_transformers_gives_it(family: str, precision: str) -> None:
    model = model_of(family, precision)
    assert runner_of(model).check_native().supported, runner_of(model).check_native().reason
    text = [*range(3, 90), *range(3, 90, 2)]
    expected = model(torch.tensor([text])).logits[0].double()
    prefix = runner_of(model).new_prefix()
    assert isinstance(prefix, NativePrefix)
    prefix.next_logits(text[:-5])
    for index in range(len(text) - 5, len(text)):
        logits = prefix.next_logits([text[index]]).double()
        distance = (logits - expected[index]).norm() / expected[index].norm()
        assert distance < {"float32": 1e-5, "float32 of bfloat16": 1e-5, "bfloat16": 0.03, "int8": 0.1}[precision]


@pytest.mark.parametrize(("family", "precision"), pairs(CONFIGS, PRECISIONS))
def test_on_and_off_are_the_same_bit_for_bit(family: str, precision: str) -> None:
    """Greedily and sampled in turn."""
    model = model_of(family, precision)
    sampled = [*CONFIGS].index(family) % 2
    sampling = SamplingConfig(seed=3, temperature=0.9, top_k=8) if sampled else None
    session = Session(model)
    expected = said(AutoregressiveDecoder(model), PROMPT, sampling=sampling, session=session)
    logits = session.prefix.next_logits([5])
    for method, make in DECODERS.items():
        session = Session(model)
        steps = [*make(model).generate(PROMPT, max_new_tokens=32, session=session, sampling=sampling)]
        assert tokens_of(steps) == expected, method
        assert len(steps) < 32 or method == "jacobi", "no candidate was accepted"
        assert torch.equal(session.prefix.next_logits([5]), logits), method


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_largest_logits_of_a_step_are_those_of_a_search_of_its_rows(precision: str) -> None:
    model = model_of("llama", precision)
    prefix = runner_of(model).new_prefix()
    one = prefix.next_logits([5, 6, 7])
    assert argmax_of_row(one) == argmax_of_row(one.clone())
    tree = CandidateTree()
    tree.add([8, 9, 10], Origin.CONTEXT)
    tree.add([8, 11], Origin.CONTEXT)
    rows = prefix.branch_logits(StepInputs.from_branches(7, tree, JacobiWindow.none()))
    for count in (1, 3, RANKED, RANKED + 1):
        assert largest(rows, count) == largest(rows.clone(), count)
    assert argmax_of_rows(rows) == argmax_of_rows(rows.clone())
    for row, alone in enumerate(rows.clone()):
        of_memory = row_of(rows, row)
        assert torch.equal(of_memory, alone)
        assert argmax_of_row(of_memory) == argmax_of_row(alone)
        draws = [Warpers(temperature=0.8).draw(each, place, 3) for place in range(20) for each in (of_memory, alone)]
        assert draws[::2] == draws[1::2]
    del prefix
    assert argmax_of_rows(rows) == argmax_of_rows(rows.clone())


def test_weights_that_are_exact_in_bfloat16_are_copied_in_it() -> None:
    copied = model_of("llama", "float32 of bfloat16")
    assert native_support(copied).supported
    assert (
        0
        < packed_weight_bytes(copied)
        == 2 * sum(layer.weight.numel() for layer in copied.modules() if isinstance(layer, torch.nn.Linear))
    )
    assert packed_weight_bytes(model_of("llama", "float32")) == 0
    assert packed_weight_bytes(model_of("llama", "bfloat16")) == 0


def test_a_text_outgrows_the_buffers_and_copies_are_independent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("decoding.model.kv_cache.GROWTH", 100)
    model = model_of("qwen2", "bfloat16")
    session = Session(model)
    text = said(budgeted(model, NEARLY_FREE), PROMPT, session=session, length=300)
    assert text == said(AutoregressiveDecoder(model), PROMPT, length=300)
    other = session.copy()
    more = said(AutoregressiveDecoder(model), [*PROMPT, *text, 9], session=other, length=20)
    assert more == said(budgeted(model, NEARLY_FREE), [*PROMPT, *text, 9], session=session, length=20)


@pytest.mark.parametrize("precision", PRECISIONS)
@torch.inference_mode()
def test_a_long_text_is_the_same_bit_for_bit_however_it_is_read(precision: str) -> None:
    model = model_of("qwen2", precision)
    text = [3 + 7 * index % 11 for index in range(1060)]
    tiles = native_kernels().tiles  # type: ignore[union-attr]
    read = [read_in_chunks(model, text, chunk) for chunk in (64, len(text), 500 if tiles else 5)]
    assert torch.equal(read[0], read[1])
    assert torch.equal(read[0], read[2])
    expected = model(torch.tensor([text])).logits[0, -1].double()
    distance = (read[0].double() - expected).norm() / expected.norm()
    assert distance < {"float32": 1e-5, "float32 of bfloat16": 1e-5, "bfloat16": 0.03, "int8": 0.1}[precision]
    prompt = text[:1010]
    assert said(budgeted(model, NEARLY_FREE), prompt) == said(AutoregressiveDecoder(model), prompt)


def test_where_a_block_of_the_prompt_takes_long_the_next_are_shorter_and_the_text_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = model_of("qwen2", "bfloat16")
    text = [3 + 7 * index % 11 for index in range(1400)]
    expected, usual = said(AutoregressiveDecoder(model), text), [*prefill(Session(model), text)]
    monkeypatch.setattr(prefilling, "CHUNK_SECONDS", 0)
    assert said(AutoregressiveDecoder(model), text) == expected
    assert usual == [512, 1024]
    assert [*prefill(Session(model), text)] == [512, 768, 1024, 1280]


def test_of_int8_projections_some_may_be_put_back_in_float32() -> None:
    model = model_of("qwen2", "int8")
    for layer, name in enumerate(("q_proj", "k_proj", "v_proj")):
        attention = model.model.layers[layer].self_attn
        back = torch.nn.Linear(64, getattr(attention, name).out_features)
        setattr(attention, name, back)
    assert native_support(model).supported
    expected = said(AutoregressiveDecoder(model), PROMPT)
    for method, make in DECODERS.items():
        assert said(make(model), PROMPT) == expected, method
