"""Padded models: larger, as slow as if they were what they are padded to, and of the same words."""

from __future__ import annotations

import pytest
import torch
from models import CONFIGS, hf_greedy, random_model, random_prompt

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder
from lade_chat.bench.padding import pad_cost, parse_amount
from lade_chat.errors import LadeChatError


@pytest.mark.parametrize("family", ["llama", "qwen2-sliding", "qwen3", "gemma2", "olmo2"])
def test_a_padded_model_is_larger_and_says_the_same(family: str) -> None:
    model = random_model(family)
    prompt, parameters = random_prompt(12), model.num_parameters()
    expected = hf_greedy(model, prompt, 20)
    padding = pad_cost(model, "0.6M")
    assert parameters < padding.parameters == model.num_parameters() == pytest.approx(6e5, rel=0.2)
    assert len(model.model.layers) == padding.layers == model.config.num_hidden_layers > 3
    assert padding.logit_difference < 1e-9
    assert padding.logit_ulps < 1000
    assert "padded to 0.6M" in padding.meaning
    assert hf_greedy(model, prompt, 20) == expected
    for decoder in (AutoregressiveDecoder(model), LookaheadDecoder(model, LookaheadConfig(4, 3, 4))):
        steps = decoder.generate(prompt, max_new_tokens=20)
        assert [token for step in steps for token in step.tokens] == expected


def test_a_padded_model_keeps_its_number_format() -> None:
    model = random_model("llama").to(torch.bfloat16)
    pad_cost(model, "0.6M")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize(
    ("family", "label", "words"),
    [
        ("gpt2", "1M", "GPT2LMHeadModel cannot be padded"),
        ("mixtral", "1M", "MixtralForCausalLM cannot be padded"),
        ("llama", "0.001M", "already has"),
        ("llama", "9999999B", "does not fit into memory"),
        ("llama", "much", "'much' is not a number of parameters"),
    ],
)
def test_what_cannot_be_padded_is_refused_and_left_as_it_is(family: str, label: str, words: str) -> None:
    model = random_model(family)
    parameters = model.num_parameters()
    with pytest.raises(LadeChatError, match=words):
        pad_cost(model, label)
    assert model.num_parameters() == parameters
    assert set(CONFIGS) >= {family}


def test_amounts() -> None:
    assert [parse_amount(text) for text in ("1.1B", "400M", " 7 b ")] == [1.1e9, 4e8, 7e9]
