"""Models with a recurrent state: one chain of candidates a step, and the text of plain decoding all the same."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
import torch

import decoding.prefilling
from decoding import (
    AutoregressiveDecoder,
    LookaheadDecoder,
    SamplingConfig,
    Session,
    lookahead_support,
    measure_step_cost,
)
from tests.chain_models import (
    BACKWARDS,
    DECODERS,
    LENGTH,
    MANY,
    REST,
    SEVERAL,
    SOME,
    model_of,
    prompt,
    said,
)
from tests.costs import NEARLY_FREE, budgeted
from tests.families import recorded, small_model
from tests.models import hf_greedy, tokens_of
from tests.pairs import LONG, pairs

SERVED = sorted(name for name, of in recorded().items() if of.one_chain)


@pytest.fixture(scope="module", params=SEVERAL)
def model(request: pytest.FixtureRequest) -> Any:
    return model_of(request.param)


def assert_state_is_the_text(session: Session) -> None:
    """The session's state is that of a fresh one over the same text, as far as its logits tell."""
    copy, fresh = session.copy(), Session(session.model)
    fresh.sync(session.ids)
    fresh.read(len(session.ids) - 1)
    assert copy.cached == session.cached == len(session.ids) - 1
    torch.testing.assert_close(copy.read(1), fresh.read(1), rtol=1e-4, atol=1e-4)


# --- the same text -------------------------------------------------------------------------------------------------


def test_many_types_are_served() -> None:
    assert len(SERVED) >= 20


@pytest.mark.parametrize("model_type", SERVED if LONG else SERVED[::3])
def test_every_type_says_what_generate_says(model_type: str) -> None:
    """By one decoder, and of few tokens, so that many are accepted; the test of families meets every type."""
    model = model_of(model_type)
    steps = list(budgeted(model, NEARLY_FREE).generate(prompt(), max_new_tokens=LENGTH))
    assert tokens_of(steps) == hf_greedy(model, prompt(), LENGTH)
    # Or the identity says little.
    assert sum(step.accepted for step in steps) >= LENGTH / 12


@pytest.mark.parametrize("model_type", SERVED if LONG else SERVED[1::6])
def test_every_type_over_lengths_stops_edits_and_seeds(model_type: str) -> None:
    model = model_of(model_type)
    plain, decoder = AutoregressiveDecoder(model), budgeted(model, NEARLY_FREE)
    for length in (1, 2, 33):
        assert said(decoder, prompt(length), 12) == said(plain, prompt(length), 12), length
    for seed in (1, 2):
        sampling = SamplingConfig(temperature=0.8, seed=seed)
        assert said(decoder, prompt(), sampling=sampling) == said(plain, prompt(), sampling=sampling), seed
    whole, session = said(plain, prompt()), Session(model)
    for stop in (whole[LENGTH // 2], whole[-1]):
        options = {"eos_token_ids": [stop], "session": session}
        assert said(decoder, prompt(), **options) == whole[: whole.index(stop) + 1], stop
    # An edit in the middle of the prompt, a retry, and a further turn, all in the session that ended early.
    edited = [*prompt()[:9], *prompt(7, seed=5)]
    for text in (edited, edited, [*edited, *said(plain, edited, 12), *prompt(5, seed=6)]):
        assert said(decoder, text, 12, session=session) == said(plain, text, 12)


def test_every_decoder_says_what_generate_says(model: Any) -> None:
    expected = hf_greedy(model, prompt(2), LENGTH)
    for name, decoder in DECODERS.items():
        assert said(decoder(model), prompt(2)) == expected, name


@pytest.mark.parametrize(("model", "name"), pairs(SEVERAL, DECODERS), indirect=["model"])
def test_one_seed_is_one_text(model: Any, name: str) -> None:
    sampling = SamplingConfig(temperature=0.7, top_k=6, seed=1)
    expected = said(AutoregressiveDecoder(model), prompt(seed=1), sampling=sampling)
    assert said(DECODERS[name](model), prompt(seed=1), sampling=sampling) == expected


def test_decoders_take_turns_and_close_at_any_step(model: Any) -> None:
    plain = AutoregressiveDecoder(model)
    expected, session, text = said(plain, prompt()), Session(model), prompt()
    turns = cycle([*(make(model) for make in DECODERS.values()), plain])
    while len(text) < len(prompt()) + LENGTH:
        steps = next(turns).generate(text, max_new_tokens=len(prompt()) + LENGTH - len(text), session=session)
        for _, step in zip(range(2), steps, strict=False):
            text += step.tokens
        assert session.ids == text
    assert text[len(prompt()) :] == expected


@pytest.mark.parametrize("model", SOME, indirect=True)
def test_edits_retries_and_further_turns(model: Any) -> None:
    plain, session = AutoregressiveDecoder(model), Session(model)
    decoder, text = budgeted(model, NEARLY_FREE), prompt()
    texts = [text, text[:12], [*text[:12], *prompt(5, seed=3)], text]
    for ids in texts:
        copy, reusable = session.copy(), session.reusable(ids)
        copy.sync(ids)
        assert copy.cached == reusable
        assert said(decoder, ids, 12, session=session) == said(plain, ids, 12)
    further = [*session.ids, *prompt(6, seed=4)]
    assert session.reusable(further) == len(session.ids) - 1
    assert said(decoder, further, 12, session=session) == said(plain, further, 12)


@pytest.mark.parametrize(("model", "name"), pairs(SEVERAL, DECODERS), indirect=["model"])
def test_texts_end_where_plain_decoding_ends_them(model: Any, name: str) -> None:
    whole = said(AutoregressiveDecoder(model), prompt())
    for ending in sorted({*whole})[:2]:
        expected, session = whole[: whole.index(ending) + 1], Session(model)
        assert said(DECODERS[name](model), prompt(), eos_token_ids=ending, session=session) == expected
        # And goes on from there, though the step may have accepted more.
        rest = said(DECODERS[name](model), session.ids, LENGTH - len(expected) or 1, session=session)
        assert [*expected, *rest][:LENGTH] == whole


def test_long_texts_past_every_window_and_block() -> None:
    """Of an index that selects tokens, of blocks of 64 tokens that a prompt is read in, of sliding attention."""
    for model_type in ("qwen4_exp_text", "qwen3_next", "lfm3", "bamba"):
        model = model_of(model_type)
        expected = hf_greedy(model, prompt(150), 30)
        assert said(budgeted(model, NEARLY_FREE), prompt(150), 30) == expected, model_type


# --- what a session promises ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "name"), pairs(SEVERAL, BACKWARDS), indirect=["model"])
def test_the_state_is_that_of_the_text_after_every_step(model: Any, name: str) -> None:
    session = Session(model)
    for _ in DECODERS[name](model).generate(prompt(), max_new_tokens=9, session=session):
        assert_state_is_the_text(session)


@pytest.mark.parametrize("model", REST, indirect=True)
def test_a_prompt_read_in_chunks(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = said(AutoregressiveDecoder(model), prompt(40))
    monkeypatch.setattr(decoding.prefilling, "PREFILL_CHUNK", 7)
    session, stops = Session(model), iter([False, False, True])
    decoder = budgeted(model, NEARLY_FREE)
    assert said(decoder, prompt(40), session=session, should_stop=lambda: next(stops)) == []
    assert 7 <= session.cached < 39
    assert said(decoder, prompt(40), session=session) == expected


@pytest.mark.parametrize("model", REST, indirect=True)
def test_two_sides_from_one_state(model: Any) -> None:
    plain, decoder, session = AutoregressiveDecoder(model), budgeted(model, NEARLY_FREE), Session(model)
    said(decoder, prompt(), 12, session=session)
    text, tables = list(session.ids), session.tables.copy()
    expected = said(plain, text)
    left, right = session.copy(), session.copy()
    sides = {"on": decoder.generate(text, max_new_tokens=LENGTH, session=left)}
    sides["off"] = plain.generate(text, max_new_tokens=LENGTH, session=right)
    found: dict[str, list[int]] = {side: [] for side in sides}
    for side in cycle(sides):
        if all(len(tokens) == LENGTH for tokens in found.values()):
            break
        if (step := next(sides[side], None)) is not None:
            found[side] += step.tokens
    assert found == {"on": expected, "off": expected}
    assert said(decoder, text, session=session) == expected
    earlier = session.copy_as_of(text, tables, len(text) - 1)
    assert said(decoder, text, session=earlier) == expected


@pytest.mark.parametrize(("model_type", "count"), pairs(["lfm2", "qwen3_5_text", "falcon_h1"], [1, 2, 3]))
def test_a_layer_that_raises_leaves_the_session_whole(model_type: str, count: int) -> None:
    model = model_of(model_type)
    expected, session = said(AutoregressiveDecoder(model), prompt(), MANY), Session(model)
    decoder, text = budgeted(model, NEARLY_FREE), prompt()
    steps = decoder.generate(text, max_new_tokens=MANY, session=session)
    text += next(steps).tokens
    layer = model.get_decoder().layers[1]
    forward, calls = layer.forward, iter(range(count))

    def fail(*args: Any, **named: Any) -> Any:
        if next(calls, None) is None:
            raise FloatingPointError
        return forward(*args, **named)

    layer.forward = fail
    with pytest.raises(FloatingPointError):
        text.extend(token for step in steps for token in step.tokens)
    del layer.forward
    assert session.ids == text
    # The candidates' step goes back to the state before it; a plain one may leave nothing.
    assert session.cached in (0, len(text) - 1)
    rest = said(decoder, text, MANY + len(prompt()) - len(text), session=session)
    assert [*text, *rest][len(prompt()) :] == expected


@pytest.mark.parametrize("model", SOME, indirect=True)
def test_within_generate_too(model: Any) -> None:
    ids = torch.tensor([prompt()])
    options: dict[str, Any] = {"attention_mask": torch.ones_like(ids), "do_sample": False, "max_new_tokens": LENGTH}
    expected = model.generate(ids, **options)
    assert torch.equal(model.generate(ids, **options, custom_generate=decoding.generate), expected)
    output: Any = decoding.generate(model, ids, return_dict_in_generate=True, **options)
    assert torch.equal(output.sequences, expected)


# --- which models --------------------------------------------------------------------------------------------------


def test_support_says_that_it_is_one_chain() -> None:
    support = lookahead_support(model_of("qwen3_5_text"))
    assert support.supported
    assert support.one_chain
    assert not lookahead_support(small_model("llama")).one_chain


@pytest.mark.parametrize("model_type", ["jamba", "mamba", "recurrent_gemma"])
def test_a_model_that_reads_several_tokens_wrongly_is_decoded_plainly(model_type: str) -> None:
    model = small_model(model_type)
    support = lookahead_support(model)
    assert not support.supported
    assert not support.one_chain
    assert support.reason == "several tokens behind its recurrent state get other logits than in single steps"
    with pytest.raises(NotImplementedError, match="several tokens behind its recurrent state"):
        measure_step_cost(model)
    steps = list(LookaheadDecoder(model).generate(prompt(), max_new_tokens=LENGTH))
    assert [step.forward_tokens for step in steps[1:]] == [1] * (LENGTH - 1)
    assert tokens_of(steps) == hf_greedy(model, prompt(), LENGTH)


def test_a_model_that_is_patched_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of("lfm2")
    assert lookahead_support(model).supported
    layer = model.get_decoder().layers[0]
    forward = layer.forward

    def last_token_alone(states: torch.Tensor, *args: Any, **named: Any) -> Any:
        found = forward(states, *args, **named)
        cache = named.get("past_key_values")
        return found if states.shape[1] == 1 or cache is None or not cache.get_seq_length() else found.flip(1)

    monkeypatch.setattr(layer, "forward", last_token_alone)
    assert "other logits" in str(lookahead_support(model).reason)
    monkeypatch.undo()
    assert lookahead_support(model).supported
