"""Steps in C: what transformers computes, and what a plain step says bit for bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadDecoder,
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
from decoding.model.inputs import StepInputs
from decoding.native.kernels import native_kernels
from decoding.native.ranked_rows import RANKED, row_of
from decoding.native.top_k import argmax_of_row, argmax_of_rows, largest
from decoding.native_forward.native_prefix import NativePrefix
from decoding.runner import runner_of
from decoding.sampling.draw import Warpers
from tests.costs import NEARLY_FREE, budgeted
from tests.models import random_model, tokens_of
from tests.native_models import DECODERS, in_c, native_model
from tests.pairs import pairs

pytestmark = in_c

SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "eos_token_id": None,
}
CONFIGS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "llama": lambda: hf.LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True),
    "llama3-rope": lambda: hf.LlamaConfig(
        **SIZES | {"head_dim": 48, "tie_word_embeddings": True},
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 5e5,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 512,
        },
    ),
    "mistral": lambda: hf.MistralConfig(**SIZES, sliding_window=None),
    "qwen2": lambda: hf.Qwen2Config(**SIZES | {"head_dim": 32}),
    "qwen3": lambda: hf.Qwen3Config(**SIZES | {"num_key_value_heads": 4}),
}
PRECISIONS = ("float32", "float32 of bfloat16", "bfloat16", "int8")
PROMPT = [5, 6, 7, 5, 6, 7, 8, 5, 6]


def said(
    decoder: Decoder, prompt: list[int], session: Session | None = None, *, length: int = 32, sampling: Any = None
) -> list[int]:
    return tokens_of(decoder.generate(prompt, max_new_tokens=length, sampling=sampling, session=session))


def read_in_chunks(model: Any, text: list[int], chunk: int) -> torch.Tensor:
    prefix = runner_of(model).new_prefix()
    return [prefix.next_logits(text[first : first + chunk]) for first in range(0, len(text), chunk)][-1]


def model_of(family: str, precision: str = "float32") -> Any:
    return native_model(CONFIGS[family](), precision)


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


def test_a_model_of_another_dtype_is_checked_anew() -> None:
    model = model_of("llama").double()
    assert not native_support(model).supported
    assert native_support(model.float()).supported


def test_changes_of_the_model_take_effect_at_the_next_text() -> None:
    model = model_of("llama")
    session = Session(model)

    def is_as_fresh() -> bool:
        fresh = copy.deepcopy(model)
        return said(LookaheadDecoder(model), PROMPT, session) == said(AutoregressiveDecoder(fresh), PROMPT)

    assert is_as_fresh()
    with torch.no_grad():
        model.model.layers[1].mlp.up_proj.weight.mul_(-1)
    assert is_as_fresh()
    model.model.layers[0].self_attn.q_proj.weight.data = torch.randn(64, 64)
    assert is_as_fresh()
    model.model.embed_tokens.weight.data = torch.randn(97, 64)
    assert is_as_fresh()
    model.model.layers[2].input_layernorm.weight = torch.nn.Parameter(torch.randn(64))
    assert is_as_fresh()
    model.model.layers[0].mlp.forward = lambda rows: rows * 2
    assert not runner_of(model).check_native().supported or is_as_fresh()
    assert is_as_fresh()


def test_an_id_without_an_embedding_is_refused() -> None:
    model = model_of("llama")
    prefix = runner_of(model).new_prefix()
    prefix.next_logits(PROMPT)
    for token in (-1, 97):
        with pytest.raises(IndexError, match="embedding"):
            prefix.next_logits([4, token])
    assert prefix.length == len(PROMPT)


def test_hooks_and_autocast_are_left_to_transformers() -> None:
    model, seen = model_of("llama"), list[int]()
    session = Session(model)
    said(AutoregressiveDecoder(model), PROMPT, session=session)
    hook = model.model.layers[0].register_forward_hook(lambda *_: seen.append(1))
    said(LookaheadDecoder(model), [*PROMPT, 4], session=session, length=6)
    assert len(seen) >= 2
    hook.remove()
    seen.clear()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prefix = runner_of(model).new_prefix()
        prefix.next_logits(PROMPT)
        found = prefix.next_logits([4])
    model.model.layers[0].register_forward_hook(lambda *_: seen.append(1))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
        expected = model(torch.tensor([[*PROMPT, 4]])).logits[0, -1]
    assert seen
    assert found.dtype == expected.dtype


@pytest.mark.parametrize("read_before", [0, 10])
def test_what_transformers_reads_under_autocast_is_kept_in_the_models_dtype(
    read_before: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("decoding.model.kv_cache.GROWTH", 100)
    model, text = model_of("llama"), [3 + 7 * index % 11 for index in range(300)]
    expected = read_in_chunks(model, [*text, 4], 300)
    prefix = runner_of(model).new_prefix()
    if read_before:
        prefix.next_logits(text[:read_before])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prefix.next_logits(text[read_before:])  # more than its buffers have room for
    assert (prefix.next_logits([4]) - expected).norm() < 0.01 * expected.norm()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda: random_model("gpt2").float(), "not known in C"),
        (lambda: with_lengths(model_of("llama")), "depend on the length"),
        (lambda: model_of("llama").double(), "float32 or bfloat16"),
        (lambda: model_of("llama").train(), "training mode"),
        (lambda: random_model("llama").float(), "8 wide"),
        (lambda: hooked(model_of("llama")), "hooked"),
        (lambda: with_other_maths(model_of("llama")), "other logits"),
    ],
)
def test_other_models_say_why_not(change: Callable[[], Any], words: str) -> None:
    model = change()
    support = native_support(model)
    assert not support.supported
    assert words in str(support.reason)
    assert not isinstance(runner_of(model).new_prefix(), NativePrefix)


def hooked(model: Any) -> Any:
    model.lm_head.register_forward_hook(lambda *_: None)
    return model


def with_lengths(model: Any) -> Any:
    model.config.rope_parameters["rope_type"] = "dynamic"
    return model


def with_other_maths(model: Any) -> Any:
    """A model whose configuration does not show what its modules compute."""
    model.model.layers[1].mlp.act_fn = torch.nn.ReLU()
    return model
