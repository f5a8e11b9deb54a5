"""Steps in C are left to transformers where a model is altered, and follow its changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from decoding import (
    AutoregressiveDecoder,
    LookaheadDecoder,
    Session,
    native_support,
)
from decoding.native_forward.native_prefix import NativePrefix
from decoding.runner import runner_of
from tests.models import random_model
from tests.native_models import PROMPT, in_c, model_of, read_in_chunks, said

pytestmark = in_c


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
    for layer in model.model.layers:
        layer.self_attn.scaling *= 9
    assert is_as_fresh()
    assert native_support(model).supported
    model.model.layers[1].self_attn.scaling *= 9
    assert is_as_fresh()
    assert not native_support(model).supported
    model.model.layers[1].self_attn.scaling /= 9
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


pytestmark = in_c


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
        (lambda: with_fewer_layers(model_of("llama")), "more layers than its configuration says"),
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


def with_fewer_layers(model: Any) -> Any:
    model.config.num_hidden_layers = 1
    return model


def with_lengths(model: Any) -> Any:
    model.config.rope_parameters["rope_type"] = "dynamic"
    return model


def with_other_maths(model: Any) -> Any:
    """A model whose configuration does not show what its modules compute."""
    model.model.layers[1].mlp.act_fn = torch.nn.ReLU()
    return model
