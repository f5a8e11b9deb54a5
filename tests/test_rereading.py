"""Models that read a text otherwise once it is longer: what a session keeps of a prompt that is edited, in either
direction, is what a model just loaded would make of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
import transformers as hf

import decoding
from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Session, Step
from decoding.parallel import ParallelLookaheadDecoder
from tests.costs import NEARLY_FREE, budgeted
from tests.models import COMMON, hf_greedy, random_prompt
from tests.ranks import workers_in_threads
from tests.small_configs import small_config

SWITCH = 32
FACTORS: dict[str, Any] = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0, 3.0, 2.0, 6.0],
    "original_max_position_embeddings": SWITCH,
}
DYNAMIC: dict[str, Any] = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 64.0}
DEFAULT: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
SHORT: dict[str, Any] = {**COMMON, "max_position_embeddings": SWITCH}

DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "budgeted": lambda model: budgeted(model, NEARLY_FREE),
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    "jacobi": JacobiDecoder,
    "plain": AutoregressiveDecoder,
}


def _phimoe() -> hf.PretrainedConfig:
    # transformers' grouped matrix product for experts knows no float64.
    sizes = {**COMMON, "original_max_position_embeddings": SWITCH, "num_local_experts": 4}
    factors = {**FACTORS, "short_mscale": 1.0, "long_mscale": 1.2}
    return hf.PhimoeConfig(**sizes, experts_implementation="eager", rope_parameters=factors)


REREADING: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "phi3": lambda: hf.Phi3Config(**COMMON, rope_parameters=FACTORS, original_max_position_embeddings=SWITCH),
    "phimoe": _phimoe,
}
"""`generate` has them read the whole text anew when it outgrows their original positions."""

LENGTHS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    **REREADING,
    "llama-dynamic": lambda: hf.LlamaConfig(**SHORT, rope_parameters=DYNAMIC),
    "llama-longrope": lambda: hf.LlamaConfig(**COMMON, rope_parameters=FACTORS),
    "gemma3-dynamic": lambda: hf.Gemma3TextConfig(
        **SHORT,
        head_dim=8,
        sliding_window=9,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        rope_parameters={"full_attention": DYNAMIC, "sliding_attention": DEFAULT},
    ),
}
"""Their frequencies depend on the length of the text."""


def _doge(**settings: Any) -> Any:
    """A model with attention that picks its tokens by different scores."""
    config = small_config("doge")
    for name, value in {"keep_window_size": 16, "sliding_window": None, **settings}.items():
        setattr(config, name, value)
    model = _model(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".A"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def _model(config: Any) -> Any:
    torch.manual_seed(0)
    model: Any = hf.AutoModelForCausalLM.from_config(config).eval().double()
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


OTHERS: dict[str, Callable[[], Any]] = {
    "doge": _doge,
    "doge-sliding": lambda: _doge(keep_window_size=8, sliding_window=9),
    "doge-experts": lambda: _doge(is_moe=True),
    "bert": lambda: _bert(),
}
"""Attention that picks tokens by scores that may be equal, and states that depend on what follows."""


def _bert() -> Any:
    config = small_config("bert")
    config.is_decoder = False
    return _model(config)


@pytest.fixture(scope="module", params=REREADING)
def model(request: pytest.FixtureRequest) -> Any:
    return _model(REREADING[request.param]())


@pytest.fixture(scope="module", params=[*LENGTHS, *OTHERS])
def pristine(request: pytest.FixtureRequest) -> Any:
    """Never run: some remember the longest text that they have read."""
    return _model(LENGTHS[request.param]()) if request.param in LENGTHS else OTHERS[request.param]()


def said(decoder: Decoder, prompt: list[int], count: int, session: Session | None = None) -> list[int]:
    steps: list[Step] = list(decoder.generate(prompt, max_new_tokens=count, session=session))
    return [token for step in steps for token in step.tokens]


def edits() -> list[list[int]]:
    """Prompts of which each begins like some before, longer and shorter, across the switch in both directions."""
    text = random_prompt(70)
    lengths = (25, 60, 36, 20, 50, 38, 31, 33, 33, 45, 34)
    return [[*text[: length * 9 // 10], *random_prompt(length - length * 9 // 10, seed=length)] for length in lengths]


@pytest.mark.parametrize("length", [7, SWITCH - 1, SWITCH, SWITCH + 1, SWITCH + 9])
def test_every_decoder_says_what_generate_says_over_the_switch(model: Any, length: int) -> None:
    prompt = (random_prompt(6) * 9)[:length]
    expected = hf_greedy(model, prompt, 40)
    for decoder in DECODERS.values():
        assert said(decoder(model), prompt, 40) == expected


def test_a_session_keeps_nothing_across_the_switch_in_either_direction(model: Any) -> None:
    session, decoder = Session(model), LookaheadDecoder(model)
    text = random_prompt(50)
    for length in (25, 50, 20, 29, 36, 45, 31):
        assert said(decoder, text[:length], 6, session) == hf_greedy(model, text[:length], 6)


def test_an_edited_prompt_is_read_as_by_a_model_just_loaded(pristine: Any) -> None:
    expected = [hf_greedy(deepcopy(pristine), prompt, 10) for prompt in edits()]
    model = deepcopy(pristine)
    for name, decoder in DECODERS.items():
        session = Session(model)
        found = [said(decoder(model), prompt, 10, session) for prompt in edits()]
        assert [a == b for a, b in zip(found, expected, strict=True)] == [True] * len(expected), name


def test_a_decoder_goes_on_where_another_left_off(pristine: Any) -> None:
    model, prompt = deepcopy(pristine), (random_prompt(6) * 9)[: SWITCH - 7]
    expected = hf_greedy(deepcopy(pristine), prompt, 24)
    session, text = Session(model), list(prompt)
    for turn in range(8):
        text += said([*DECODERS.values()][turn % 4](model), text, 3, session)
        session = session.copy()
    if session.gate.ties_after is None:
        assert text[len(prompt) :] == expected


def test_a_session_as_it_was_earlier_reads_as_a_fresh_one(pristine: Any) -> None:
    """What a race starts from: the last prompt, though the session has read on since."""
    model, prompt = deepcopy(pristine), random_prompt(SWITCH - 3)
    session, decoder = Session(model), LookaheadDecoder(model)
    said(decoder, prompt, 12, session)
    earlier = session.copy_as_of(prompt, session.tables, len(prompt) - 1)
    said(decoder, random_prompt(SWITCH + 20), 3, session)
    again = session.copy_as_of(prompt, session.tables, len(prompt) - 1)
    for copy in (earlier, again):
        assert said(decoder, prompt, 12, copy) == hf_greedy(deepcopy(pristine), prompt, 12)


def test_within_generate_a_session_goes_on_as_generate_would(pristine: Any) -> None:
    """`generate` knows no session: the text so far is a prompt like any other."""
    model = deepcopy(pristine)
    session, ids = Session(model), torch.tensor([random_prompt(SWITCH - 9)])
    for _ in range(4):
        settings: dict[str, Any] = {"attention_mask": torch.ones_like(ids), "do_sample": False, "max_new_tokens": 6}
        expected = deepcopy(pristine).generate(ids, **settings)
        ids = model.generate(ids, custom_generate=decoding.generate, session=session, **settings)
        assert torch.equal(ids, expected)


@pytest.mark.parametrize("kind", LENGTHS)
def test_a_prompt_stopped_before_it_was_read_leaves_nothing_read_otherwise(kind: str) -> None:
    model, text = _model(LENGTHS[kind]()), random_prompt(50)
    session, decoder = Session(model), AutoregressiveDecoder(model)
    said(decoder, text[: SWITCH + 10], 2, session)
    other = [*text[:10], *random_prompt(SWITCH, seed=3)]
    list(decoder.generate(other, max_new_tokens=2, session=session, should_stop=lambda: True))
    session.adopt(other)
    prompt = [*other[:10], *random_prompt(6, seed=4)]
    assert said(decoder, prompt, 8, session) == hf_greedy(_model(LENGTHS[kind]()), prompt, 8)


def test_frequencies_of_a_longer_text_pass_neither_into_another_nor_out_of_it() -> None:
    """transformers keeps them in the model; a text that is not much shorter would be read with them."""
    config = LENGTHS["llama-dynamic"]()
    model, text = _model(config), random_prompt(60)
    expected = hf_greedy(_model(config), text[:40], 8)
    said(LookaheadDecoder(model), text, 8)
    assert hf_greedy(model, text[:40], 8) == expected
    hf_greedy(model, text, 8)
    longest = float(model.model.rotary_emb.max_seq_len_cached)
    for decoder in DECODERS.values():
        assert said(decoder(model), text[:40], 8) == expected
        assert said(decoder(model), text[:20], 8) == hf_greedy(_model(config), text[:20], 8)
    assert float(model.model.rotary_emb.max_seq_len_cached) == longest


@pytest.mark.parametrize("kind", ["llama-dynamic", "llama-longrope"])
def test_what_was_read_alike_is_kept(kind: str) -> None:
    model, text = _model(LENGTHS[kind]()), random_prompt(60)
    session, decoder = Session(model), LookaheadDecoder(model)
    said(decoder, text[:20], 4, session)
    assert session.reusable([*text[:18], 5, 6]) == 18
    assert session.reusable(text[:40]) == 0
    said(decoder, text[:40], 4, session)
    assert session.reusable([*text[:35], *random_prompt(5, seed=2)]) == 35
    assert session.reusable([*text[:35], *random_prompt(9, seed=2)]) == (35 if kind == "llama-longrope" else 0)
    assert session.reusable(text[:20]) == 0
    assert session.reusable(session.ids) == 43


def test_experts_routed_by_other_tokens_have_a_prompt_read_in_one_piece() -> None:
    pristine = _doge(is_moe=True, keep_window_size=2048, max_position_embeddings=2048)
    prompt = random_prompt(600)
    assert said(AutoregressiveDecoder(pristine), prompt, 6) == hf_greedy(pristine, prompt, 6)


def test_equal_scores_are_told_apart_as_in_generate_however_long_the_prompt() -> None:
    model, prompt = _doge(keep_window_size=40, max_position_embeddings=2048), random_prompt(600, seed=1)
    assert said(LookaheadDecoder(model), prompt, 10) == hf_greedy(model, prompt, 10)


# --- padding on the left -------------------------------------------------------------------------------------------


def _padded(prompt: list[int], padding: int) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor([[0] * padding + prompt]),
        "attention_mask": torch.tensor([[0] * padding + [1] * len(prompt)]),
    }


@pytest.mark.parametrize("padding", [1, 4])
@pytest.mark.parametrize("kind", LENGTHS)
def test_padding_on_the_left_over_the_switch(kind: str, padding: int) -> None:
    model = _model(LENGTHS[kind]())
    for length in (SWITCH - 10, SWITCH - padding, SWITCH, SWITCH + 1):
        inputs = _padded((random_prompt(6) * 9)[:length], padding)
        settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": 24, "pad_token_id": 0}
        expected = deepcopy(model).generate(**inputs, **settings)
        settings["lookahead_config"] = LookaheadConfig(5, 4, 5)
        assert torch.equal(model.generate(**inputs, **settings, custom_generate=decoding.generate), expected)


def test_padding_before_equal_scores_is_refused_where_generate_depends_on_it() -> None:
    model = _doge()
    settings: dict[str, Any] = {"do_sample": False, "pad_token_id": 0, "no_repeat_ngram_size": 2}
    short = _padded(random_prompt(8), 3)
    expected = model.generate(**short, **settings, max_new_tokens=8)
    assert torch.equal(
        model.generate(**short, **settings, max_new_tokens=8, custom_generate=decoding.generate), expected
    )
    with pytest.raises(NotImplementedError, match="padding before a text of more than 16 tokens"):
        model.generate(**short, **settings, max_new_tokens=24, custom_generate=decoding.generate)


def test_other_ranks_take_no_part(model: Any) -> None:
    prompt = random_prompt(6) * 4
    with workers_in_threads([deepcopy(model)]) as workers:
        decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
        assert said(decoder, prompt, 40) == hf_greedy(model, prompt, 40)
