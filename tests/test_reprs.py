"""Representations: what a debugger or a log shows of the library's values is what matters of them."""

from __future__ import annotations

import pytest
import torch

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    SamplingConfig,
    Session,
)
from decoding.model.kv_cache import KVCache
from tests.models import random_model, random_prompt

NAMES = {"LookaheadConfig": LookaheadConfig, "SamplingConfig": SamplingConfig}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (LookaheadConfig.auto(), "LookaheadConfig.auto()"),
        (LookaheadConfig(3, 4, 5), "LookaheadConfig(window_size=3, ngram_size=4, guess_set_size=5)"),
        (SamplingConfig.greedy(), "SamplingConfig.greedy()"),
        (SamplingConfig.greedy(repetition_penalty=1.5), "SamplingConfig.greedy(repetition_penalty=1.5)"),
        (SamplingConfig(temperature=0, seed=4), "SamplingConfig.greedy(seed=4)"),
        (SamplingConfig(seed=7), "SamplingConfig(seed=7)"),
        (SamplingConfig(0.8, top_p=0.9, seed=7), "SamplingConfig(temperature=0.8, top_p=0.9, seed=7)"),
    ],
)
def test_a_config_shows_what_was_asked_for_and_can_be_read_back(value: object, shown: str) -> None:
    assert repr(value) == shown
    assert eval(shown, NAMES) == value


def test_a_session_shows_its_model_and_how_much_it_holds() -> None:
    model = random_model("llama")
    session = Session(model)
    assert repr(session) == "Session(LlamaForCausalLM, 0 tokens, 0 cached, 0 n-grams)"
    steps = list(
        LookaheadDecoder(model, LookaheadConfig(3, 3, 3)).generate(random_prompt(9), max_new_tokens=8, session=session)
    )
    assert len(steps) > 1
    grams = len(session.tables[Origin.TRAJECTORY])
    assert grams
    assert repr(session) == f"Session(LlamaForCausalLM, 17 tokens, 16 cached, {grams} n-grams)"
    known = len(session.tables[Origin.SUCCESSOR])
    assert repr(session.tables) == (
        f"{type(session.tables).__name__}(context: 17, trajectory: {grams}, successor: {known})"
    )
    cache = KVCache()
    model(torch.tensor([random_prompt(9)]), past_key_values=cache)
    assert repr(cache) == "KVCache(9 tokens, 2 layers)"
    assert repr(Session(random_model("mamba"))).startswith("Session(MambaForCausalLM, 0 tokens")


def test_a_decoder_shows_its_model_and_its_settings() -> None:
    llama, bloom = random_model("llama"), random_model("bloom")
    shown: dict[str, Decoder] = {
        "AutoregressiveDecoder(LlamaForCausalLM)": AutoregressiveDecoder(llama),
        "JacobiDecoder(LlamaForCausalLM, block_size=4)": JacobiDecoder(llama, 4),
        "LookaheadDecoder(LlamaForCausalLM, LookaheadConfig.auto())": LookaheadDecoder(llama),
    }
    for text, decoder in shown.items():
        assert repr(decoder) == text
    plain = LookaheadDecoder(bloom)
    assert repr(plain) == (
        f"LookaheadDecoder(BloomForCausalLM, LookaheadConfig.auto(), decodes plainly: {plain.support.reason})"
    )
