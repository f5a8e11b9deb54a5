"""Models that read a text otherwise once it is longer: what a session keeps of a prompt that is edited, in either
direction, is what a model just loaded would make of it."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from itertools import cycle
from typing import Any

import pytest
import torch

import decoding
from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Session, Step
from decoding.parallel import ParallelLookaheadDecoder
from tests.costs import NEARLY_FREE, budgeted
from tests.length_models import LENGTHS, OTHERS, REREADING, SWITCH, built, doge
from tests.models import hf_greedy, random_model, random_prompt, tokens_of
from tests.pairs import LONG, in_turn
from tests.ranks import workers_in_threads
from tests.small_configs import small_config

DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "budgeted": lambda model: budgeted(model, NEARLY_FREE),
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    "jacobi": JacobiDecoder,
    "plain": AutoregressiveDecoder,
}


@pytest.fixture(scope="module", params=REREADING)
def model(request: pytest.FixtureRequest) -> Any:
    return built(REREADING[request.param]())


KINDS = [*LENGTHS, *OTHERS]
SOME, REST = (KINDS, KINDS) if LONG else (KINDS[::2], KINDS[1::2])


@pytest.fixture(scope="module", params=KINDS)
def pristine(request: pytest.FixtureRequest) -> Any:
    """Never run: some remember the longest text that they have read."""
    return built(LENGTHS[request.param]()) if request.param in LENGTHS else OTHERS[request.param]()


def said(decoder: Decoder, prompt: list[int], count: int, session: Session | None = None) -> list[int]:
    steps: list[Step] = list(decoder.generate(prompt, max_new_tokens=count, session=session))
    return tokens_of(steps)


def edits() -> list[list[int]]:
    """Prompts of which each begins like some before, longer and shorter, across the switch in both directions."""
    text = random_prompt(70)
    lengths = (25, 60, 36, 20, 33)
    return [[*text[: length * 9 // 10], *random_prompt(length - length * 9 // 10, seed=length)] for length in lengths]


@pytest.mark.parametrize(("number", "length"), enumerate([7, SWITCH - 1, SWITCH, SWITCH + 1, SWITCH + 9]))
def test_every_decoder_says_what_generate_says_over_the_switch(model: Any, number: int, length: int) -> None:
    prompt, count = (random_prompt(6) * 9)[:length], max(12, SWITCH + 9 - length)
    expected = hf_greedy(model, prompt, count)
    for name in in_turn(DECODERS, number):
        assert said(DECODERS[name](model), prompt, count) == expected, name


def test_a_session_keeps_nothing_across_the_switch_in_either_direction(model: Any) -> None:
    session, decoder = Session(model), LookaheadDecoder(model)
    text = random_prompt(50)
    for length in (25, 50, 20, 29, 36, 45, 31):
        assert said(decoder, text[:length], 6, session) == hf_greedy(model, text[:length], 6)


def test_an_edited_prompt_is_read_as_by_a_model_just_loaded(pristine: Any, request: pytest.FixtureRequest) -> None:
    expected = [hf_greedy(deepcopy(pristine), prompt, 4) for prompt in edits()]
    model = deepcopy(pristine)
    for name in in_turn(DECODERS, request.node.callspec.indices["pristine"]):
        session = Session(model)
        found = [said(DECODERS[name](model), prompt, 4, session) for prompt in edits()]
        assert [a == b for a, b in zip(found, expected, strict=True)] == [True] * len(expected), name


@pytest.mark.parametrize("pristine", SOME, indirect=True)
def test_a_decoder_goes_on_where_another_left_off(pristine: Any) -> None:
    model, prompt = deepcopy(pristine), (random_prompt(6) * 9)[: SWITCH - 7]
    expected = hf_greedy(deepcopy(pristine), prompt, 24)
    session, text = Session(model), list(prompt)
    for turn in range(8):
        text += said([*DECODERS.values()][turn % 4](model), text, 3, session)
        session = session.copy()
    if session.capabilities.ties_after is None:
        assert text[len(prompt) :] == expected


@pytest.mark.parametrize("pristine", REST, indirect=True)
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


@pytest.mark.parametrize("pristine", SOME, indirect=True)
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
    model, text = built(LENGTHS[kind]()), random_prompt(50)
    session, decoder = Session(model), AutoregressiveDecoder(model)
    said(decoder, text[: SWITCH + 10], 2, session)
    other = [*text[:10], *random_prompt(SWITCH, seed=3)]
    list(decoder.generate(other, max_new_tokens=2, session=session, should_stop=lambda: True))
    session.sync(other)
    prompt = [*other[:10], *random_prompt(6, seed=4)]
    assert said(decoder, prompt, 8, session) == hf_greedy(built(LENGTHS[kind]()), prompt, 8)


def test_frequencies_of_a_longer_text_pass_neither_into_another_nor_out_of_it() -> None:
    """transformers keeps them in the model; a text that is not much shorter would be read with them."""
    config = LENGTHS["llama-dynamic"]()
    model, text = built(config), random_prompt(60)
    expected = hf_greedy(built(config), text[:40], 8)
    said(LookaheadDecoder(model), text, 8)
    assert hf_greedy(model, text[:40], 8) == expected
    hf_greedy(model, text, 8)
    longest = float(model.model.rotary_emb.max_seq_len_cached)
    for decoder in DECODERS.values():
        assert said(decoder(model), text[:40], 8) == expected
        assert said(decoder(model), text[:20], 8) == hf_greedy(built(config), text[:20], 8)
    assert float(model.model.rotary_emb.max_seq_len_cached) == longest


@pytest.mark.parametrize("kind", ["llama-dynamic", "llama-longrope"])
def test_what_was_read_alike_is_kept(kind: str) -> None:
    model, text = built(LENGTHS[kind]()), random_prompt(60)
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
    pristine = doge(is_moe=True, keep_window_size=2048, max_position_embeddings=2048)
    prompt = random_prompt(600)
    assert said(AutoregressiveDecoder(pristine), prompt, 6) == hf_greedy(pristine, prompt, 6)


def test_equal_scores_are_told_apart_as_in_generate_however_long_the_prompt() -> None:
    model, prompt = doge(keep_window_size=40, max_position_embeddings=2048), random_prompt(600, seed=1)
    assert said(LookaheadDecoder(model), prompt, 10) == hf_greedy(model, prompt, 10)


# --- padding on the left -------------------------------------------------------------------------------------------


def _padded(prompt: list[int], padding: int) -> dict[str, torch.Tensor]:
    return {
        "input_ids": torch.tensor([[0] * padding + prompt]),
        "attention_mask": torch.tensor([[0] * padding + [1] * len(prompt)]),
    }


@pytest.mark.parametrize(("kind", "padding"), zip(LENGTHS, cycle((1, 4)), strict=False))
def test_padding_on_the_left_over_the_switch(kind: str, padding: int) -> None:
    model = built(LENGTHS[kind]())
    for length in in_turn((SWITCH - 10, SWITCH - padding, SWITCH + 1), [*LENGTHS].index(kind)):
        inputs = _padded((random_prompt(6) * 9)[:length], padding)
        settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": 15, "pad_token_id": 0}
        expected = deepcopy(model).generate(**inputs, **settings)
        settings["lookahead_config"] = LookaheadConfig(5, 4, 5)
        assert torch.equal(model.generate(**inputs, **settings, custom_generate=decoding.generate), expected)


def test_padding_before_equal_scores_is_refused_where_generate_depends_on_it() -> None:
    model = doge()
    settings: dict[str, Any] = {"do_sample": False, "pad_token_id": 0, "no_repeat_ngram_size": 2}
    short = _padded(random_prompt(8), 3)
    expected = model.generate(**short, **settings, max_new_tokens=8)
    assert torch.equal(
        model.generate(**short, **settings, max_new_tokens=8, custom_generate=decoding.generate), expected
    )
    with pytest.raises(NotImplementedError, match="padding on the left of a text of more than 16 tokens"):
        model.generate(**short, **settings, max_new_tokens=24, custom_generate=decoding.generate)


@pytest.mark.parametrize("family", ["rwkv", "bart", "minimax_m3_vl_text"])
def test_padding_that_is_read_as_text_is_refused(family: str) -> None:
    """By a recurrent state, by positions counted from it on, or by blocks that attention picks from."""
    model = random_model(family) if family == "rwkv" else built(small_config(family))
    inputs, settings = _padded(random_prompt(8), 3), {"do_sample": False, "pad_token_id": 0, "max_new_tokens": 4}
    with pytest.raises(NotImplementedError, match="serves no padding on the left with this model"):
        model.generate(**inputs, **settings, custom_generate=decoding.generate)
    whole = {"input_ids": inputs["input_ids"], "attention_mask": torch.ones_like(inputs["input_ids"])}
    expected = model.generate(**whole, **settings)
    assert torch.equal(model.generate(**whole, **settings, custom_generate=decoding.generate), expected)


def test_other_ranks_take_no_part(model: Any) -> None:
    prompt = random_prompt(6) * 4
    with workers_in_threads([deepcopy(model)]) as workers:
        decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
        assert said(decoder, prompt, 40) == hf_greedy(model, prompt, 40)


def test_the_cache_that_comes_back_is_never_an_empty_one(model: Any) -> None:
    """The token that outgrows the short frequencies may be the last; `generate` drops its cache when it goes on."""
    for length in range(SWITCH - 6, SWITCH + 2):
        ids = torch.tensor([random_prompt(length)])
        options = {"attention_mask": torch.ones_like(ids), "max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
        output: Any = decoding.generate(
            model, ids, lookahead_config=LookaheadConfig(3, 3, 3), return_dict_in_generate=True, **options
        )
        assert output.sequences[0, length:].tolist() == hf_greedy(model, ids[0].tolist(), 4)
        cache = output.past_key_values
        assert (cache is None) == (length + 4 == SWITCH + 1)
        assert cache is None or cache.get_seq_length() == length + 3
