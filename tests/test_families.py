"""Every family of causal language models in transformers: the same text, or plain decoding with the reason.

``LONG_TESTS=1`` tries every family with every attention and decoder: otherwise every eighth family meets both, and each
of the others meets one of either, in turn.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
import transformers

from decoding import AutoregressiveDecoder, FinishReason, LookaheadDecoder, Session, lookahead_support
from lade_chat.loading.checkpoint_config import plain_attention
from tests import small_configs
from tests.costs import NEARLY_FREE, budgeted
from tests.families import (
    ATTENTIONS,
    BEGIN,
    DECODERS,
    END,
    MODEL_TYPES,
    PAGE,
    UNBUILT,
    mistaken,
    outcome,
    prompt,
    recorded,
    recorded_version,
    small_model,
    table,
    with_table,
)
from tests.models import hf_greedy, random_model, random_prompt, tokens_of
from tests.pairs import LONG
from tests.small_configs import small_config

RECORDED = recorded()
BUILT = [each for each in MODEL_TYPES if each not in UNBUILT]
TRIED_WITH_ALL = set(BUILT if LONG else BUILT[::8])
SAME_VERSION = transformers.__version__ == recorded_version()


@pytest.mark.parametrize("model_type", BUILT)
def test_a_family_says_what_generate_says_and_is_served_as_recorded(model_type):
    """Every family that this transformers has, also those that the recorded one has not, against its own `generate`."""
    known, tried, decoders = RECORDED.get(model_type), ATTENTIONS, tuple(DECODERS)
    if known is not None and model_type not in TRIED_WITH_ALL:
        number = BUILT.index(model_type)
        decoders = (decoders[number % len(decoders)],)
        if len(known.attentions) > 1:
            tried = (known.attentions[number // 2 % len(known.attentions)],)
            known = replace(known, attentions=tried)
    try:
        found = outcome(model_type, tried, decoders)
    except AssertionError:
        raise
    except Exception as error:
        if SAME_VERSION or model_type in RECORDED:
            raise
        pytest.skip(f"{model_type} is new, and no small model of it is built: {error}")
    if SAME_VERSION:
        assert found == known
    elif found != known:
        before = f"transformers {recorded_version()}: {known}"
        warnings.warn(f"{model_type} with transformers {transformers.__version__}: {found}; {before}", stacklevel=1)


def test_no_family_is_left_out():
    assert not RECORDED.keys() & UNBUILT.keys()
    assert not SAME_VERSION or {*RECORDED, *UNBUILT} == {*MODEL_TYPES}


def test_most_families_are_served():
    assert sum(bool(of.attentions) for of in RECORDED.values()) > 100


def test_the_page_of_models_tells_what_is_recorded():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert with_table(text) == text, "run python -m tests.families"


def test_the_table_names_every_family():
    told = table()
    assert [model_type for model_type in (*RECORDED, *UNBUILT) if f"`{model_type}`" not in told] == []
    assert max(len(line) for line in told.splitlines() if not line.startswith("|")) <= 120


# --- families that are served or not, as they are configured -------------------------------------------------------


@pytest.mark.parametrize("model_type", ["bert", "rembert", "roberta"])
def test_an_encoder_that_is_not_told_to_be_a_decoder_is_found_out(model_type):
    config = small_config(model_type)
    config.is_decoder = False
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval().double()
    support = lookahead_support(model)
    assert support.reason == "it reads a text in both directions"
    # More tokens than are read at once otherwise.
    config.max_position_embeddings = 600
    model = transformers.AutoModelForCausalLM.from_config(config).eval().double()
    text = random_prompt(550)
    steps = AutoregressiveDecoder(model).generate(text, max_new_tokens=8, eos_token_ids=())
    assert tokens_of(steps) == hf_greedy(model, text, 8)


@pytest.mark.parametrize("model_type", ["deepseek_v32", "doge"])
def test_sparse_attention_is_looked_ahead_only_while_it_sees_everything(model_type):
    """Past that, scores may be equal, and which tokens are picked may depend on where they stand in the cache."""
    model = small_model(model_type)
    expected = hf_greedy(model, prompt(48), 24)
    steps = list(budgeted(model, NEARLY_FREE).generate(prompt(48), max_new_tokens=24))
    assert tokens_of(steps) == expected
    # The small configuration sees 64 tokens.
    at, ahead = 48, []
    for step in steps:
        ahead += [at] if step.forward_tokens > 1 and not step.prefill else []
        at += len(step.tokens)
    assert ahead
    assert max(ahead) < 64 < at


def test_a_copy_of_a_session_keeps_the_index_of_sparse_attention():
    model, text = small_model("deepseek_v32"), prompt(48)
    expected = hf_greedy(model, text, 24)
    decoder, session = budgeted(model, NEARLY_FREE), Session(model)
    said = tokens_of(decoder.generate(text, max_new_tokens=12, session=session))
    copy = session.copy()
    for own in (session, copy):
        rest = decoder.generate([*text, *said], max_new_tokens=12, session=own)
        assert said + tokens_of(rest) == expected


def test_layers_that_hold_no_text_do_not_count_in_the_cache():
    """Attention over a picture writes nothing where there is no picture."""
    model = small_model("mllama")
    assert model.config.get_text_config().cross_attention_layers == [1]
    assert mistaken(model) is None


# --- positions that end ---------------------------------------------------------------------------------------------


# XLM needs one more than its text has tokens, and ProphetNet two.
TABLES = {**dict.fromkeys(("opt", "codegen", "ctrl", "gptj", "mpt", "whisper"), 64), "xlm": 63, "prophetnet": 62}


@pytest.mark.parametrize("model_type", TABLES)
def test_a_text_ends_with_the_positions_of_its_table(model_type, monkeypatch):
    """A learnt table or a computed one: its last row is read, and the token that it gives is the text's last."""
    for name in ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "max_target_positions"):
        monkeypatch.setitem(small_configs.SIZES, name, 64)
    model = small_model(model_type)
    positions = TABLES[model_type]
    expected = hf_greedy(model, prompt(48), positions + 1 - 48)
    for decoder in (AutoregressiveDecoder(model), budgeted(model, NEARLY_FREE)):
        with pytest.warns(UserWarning, match="it ends there"):
            steps = list(decoder.generate(prompt(48), max_new_tokens=64))
        assert tokens_of(steps) == expected
        assert steps[-1].finish_reason is FinishReason.LENGTH
        with pytest.raises(ValueError, match=f"has positions for {positions}"):
            decoder.generate(prompt(positions + 2)[: positions + 1], max_new_tokens=1)


# --- attention that takes no masks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("attention", ["flash_attention_2", "flash_attention_3", "kernels-community/flash-attn"])
def test_flash_attention_is_refused_until_the_model_is_switched_to_sdpa(attention):
    model = random_model("llama")
    model.config._attn_implementation = attention
    support = lookahead_support(model)
    assert not support.supported
    assert attention in str(support.reason)
    assert "model.set_attn_implementation('sdpa')" in str(support.reason)
    assert LookaheadDecoder(model).support == support
    model.set_attn_implementation("sdpa")
    assert lookahead_support(model).supported
    assert mistaken(model) is None


def test_flash_attention_of_the_text_part_alone_is_found_too():
    model = small_model("gemma3")
    model.config.get_text_config()._attn_implementation = "flash_attention_2"
    assert "flash_attention_2" in str(lookahead_support(model).reason)


def test_flex_attention_is_refused_on_a_cpu():
    model = random_model("llama", attention="flex_attention")
    assert "flex_attention" in str(lookahead_support(model).reason)
    model.set_attn_implementation("eager")
    assert lookahead_support(model).supported


@pytest.mark.parametrize("model_type", ["llama", "gemma3"])
def test_the_chat_switches_the_text_part_to_sdpa_with_a_notice(model_type):
    config = small_config(model_type)
    config.get_text_config()._attn_implementation = "flash_attention_2"
    assert "flash_attention_2" in str(plain_attention(config))
    assert plain_attention(config) is None
    model = transformers.AutoModelForCausalLM.from_config(config)
    assert model.config.get_text_config()._attn_implementation == "sdpa"
