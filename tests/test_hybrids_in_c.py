"""Hybrids with steps in C: transformers' logits, the text of plain steps bit for bit, and states that go back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
import torch
import transformers as hf
from torch.nn.modules.module import register_module_forward_hook

import decoding.prefilling
from decoding import (
    AutoregressiveDecoder,
    Decoder,
    SamplingConfig,
    Session,
    lookahead_support,
    native_support,
)
from decoding.model.step_inputs import StepInputs
from decoding.native.architectures import ARCHITECTURES
from decoding.native.kernels import NativeKernels, native_kernels
from decoding.native_forward.hybrid_prefix import HybridPrefix
from decoding.native_forward.recurrent_states import ROOM
from decoding.recurrent.chain_prefix import ChainPrefix
from decoding.runner import runner_of
from tests.costs import NEARLY_FREE, budgeted
from tests.models import tokens_of
from tests.native_models import DECODERS, in_c, native_model

pytestmark = in_c

SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 1024,
    "initializer_range": 0.1,
    "tie_word_embeddings": False,
    "bos_token_id": 1,
    "eos_token_id": None,
    "pad_token_id": None,
}
MIXED = ["conv", "full_attention", "conv", "conv"]
TYPES: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "lfm2": lambda: hf.Lfm2Config(**SIZES, layer_types=MIXED, conv_bias=True),
    "qwen3_5_text": lambda: hf.Qwen3_5TextConfig(
        **SIZES,
        head_dim=64,
        linear_key_head_dim=32,
        linear_value_head_dim=48,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
    ),
}
EXPERTS: dict[str, Any] = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 48}
MIXTURES: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "lfm2_moe": lambda: hf.Lfm2MoeConfig(**SIZES, **EXPERTS, layer_types=MIXED, num_dense_layers=1),
    "qwen3_5_moe_text": lambda: hf.Qwen3_5MoeTextConfig(
        **SIZES,
        **EXPERTS,
        shared_expert_intermediate_size=128,
        head_dim=64,
        linear_key_head_dim=32,
        linear_value_head_dim=48,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
    ),
}
"""Hybrids whose layers have experts."""
PRECISIONS = {"float32": 2e-5, "bfloat16": 0.05, "int8": 0.1}
"""And how far logits may be from transformers'."""
TEXT = [3 + 7 * index % 89 for index in range(300)]
PROMPT = TEXT[:30]
LENGTH = 48


def model_of(model_type: str, precision: str = "float32") -> Any:
    return native_model({**TYPES, **MIXTURES}[model_type](), precision)


@pytest.fixture(scope="module", params=TYPES)
def model(request: pytest.FixtureRequest) -> Any:
    return model_of(request.param)


def said(decoder: Decoder, ids: list[int], count: int = LENGTH, **options: Any) -> list[int]:
    return tokens_of(decoder.generate(ids, max_new_tokens=count, **options))


def prefix_of(model: Any) -> HybridPrefix:
    prefix = runner_of(model).new_prefix()
    assert isinstance(prefix, HybridPrefix), native_support(model).reason
    return prefix


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model_type", [*TYPES, *MIXTURES])
@torch.inference_mode()
def test_a_text_has_the_logits_that_transformers_gives_it(model_type: str, precision: str) -> None:
    model = model_of(model_type, precision)
    prefix = prefix_of(model)
    prefix.next_logits(TEXT[:140])
    found = [prefix.next_logits([token]).clone() for token in TEXT[140:143]]
    found += prefix.branch_logits(StepInputs.chain(TEXT[143:150]))
    expected = model(torch.tensor([TEXT[:150]])).logits[0, 140:].double()
    distances = (torch.stack(found).double() - expected).norm(dim=1) / expected.norm(dim=1)
    # Rounded scores of a router may tie, and another expert is chosen then.
    assert float(distances.median() if model_type in MIXTURES else distances.max()) < PRECISIONS[precision]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("model_type", [*TYPES, *MIXTURES])
def test_on_and_off_are_the_same_bit_for_bit(model_type: str, precision: str) -> None:
    model = model_of(model_type, precision)
    for sampling in (None, SamplingConfig(seed=3, temperature=0.9, top_k=8)):
        plain = Session(model)
        expected = said(AutoregressiveDecoder(model), PROMPT, session=plain, sampling=sampling)
        logits = plain.prefix.next_logits([5])
        for name, make in DECODERS.items():
            session = Session(model)
            steps = [*make(model).generate(PROMPT, max_new_tokens=LENGTH, session=session, sampling=sampling)]
            assert tokens_of(steps) == expected, name
            assert len(steps) < LENGTH or name == "jacobi", "no candidate was accepted"
            assert torch.equal(session.prefix.next_logits([5]), logits), name


@pytest.mark.parametrize("accepted", [1, 3, ROOM, ROOM + 9])
def test_a_step_goes_back_to_any_of_its_tokens(model: Any, accepted: int) -> None:
    """Also from more tokens than states have room for at first."""
    prefix, fresh = prefix_of(model), prefix_of(model)
    prefix.next_logits(PROMPT)
    wanted = prefix.branch_logits(StepInputs.chain(TEXT[30 : 30 + accepted]))
    prefix.rewind(len(PROMPT))
    found = prefix.branch_logits(StepInputs.chain([*TEXT[30 : 30 + accepted], *[5] * (ROOM + 10 - accepted)]))
    prefix.keep(len(PROMPT), range(accepted))
    assert torch.equal(found[:accepted], wanted)
    assert prefix.length == len(PROMPT) + accepted
    fresh.next_logits(TEXT[: prefix.length])
    assert torch.equal(prefix.next_logits([7]), fresh.next_logits([7]))


def test_a_prompt_read_in_chunks(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt, expected = TEXT[:90], prefix_of(model).next_logits(TEXT[:90])
    for chunk in (1, 2, 33, 64):
        prefix = prefix_of(model)
        logits = [prefix.next_logits(prompt[first : first + chunk]) for first in range(0, 90, chunk)]
        assert torch.equal(logits[-1], expected), chunk
    monkeypatch.setattr(decoding.prefilling, "PREFILL_CHUNK", 16)
    session, stops = Session(model), iter([False, False, True])
    decoder = budgeted(model, NEARLY_FREE)
    assert said(decoder, prompt, session=session, should_stop=lambda: next(stops)) == []
    assert 16 <= session.cached < 89
    assert said(decoder, prompt, session=session) == said(AutoregressiveDecoder(model), prompt)


def test_more_tokens_than_one_forward_pass_takes(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = prefix_of(model).next_logits(TEXT)
    step = StepInputs.chain(TEXT)
    verified = prefix_of(model).branch_logits(step)
    monkeypatch.setattr("decoding.native_forward.hybrid_prefix.MAX_TOKENS", 37)
    assert torch.equal(prefix_of(model).next_logits(TEXT), expected)
    prefix = prefix_of(model)
    assert torch.equal(prefix.branch_logits(step), verified)
    assert prefix.rewindable_to(10) == 10


def test_a_retry_and_an_edit_go_on_from_kept_states(model: Any) -> None:
    plain, decoder, session = AutoregressiveDecoder(model), budgeted(model, NEARLY_FREE), Session(model)
    reply = said(decoder, PROMPT, session=session)
    second = [*PROMPT, *reply, *TEXT[50:70]]
    said(decoder, second, session=session)
    edited = [*second[:-5], *TEXT[7:12]]
    # The second question's state holds all but its last tokens; the first one's serves a retry of the first reply.
    for ids, kept in ((second, len(second) - 1), (edited, len(second) - 5), (PROMPT, len(PROMPT) - 1)):
        assert session.reusable(ids) == kept
        expected, fresh = said(plain, ids), Session(model)
        assert said(decoder, ids, session=session) == expected
        assert said(decoder, ids, session=fresh) == expected
        assert torch.equal(session.prefix.next_logits([5]), fresh.prefix.next_logits([5]))


def test_texts_end_where_plain_decoding_ends_them(model: Any) -> None:
    whole = said(AutoregressiveDecoder(model), PROMPT)
    for ending in sorted({*whole})[:2]:
        expected = whole[: whole.index(ending) + 1]
        for name, make in DECODERS.items():
            session = Session(model)
            assert said(make(model), PROMPT, eos_token_ids=ending, session=session) == expected, name
            rest = said(make(model), session.ids, LENGTH - len(expected) or 1, session=session)
            assert [*expected, *rest][:LENGTH] == whole, name


def test_two_sides_from_one_state(model: Any) -> None:
    plain, decoder, session = AutoregressiveDecoder(model), budgeted(model, NEARLY_FREE), Session(model)
    said(decoder, PROMPT, 12, session=session)
    text, tables = list(session.ids), session.tables.copy()
    expected = said(plain, text)
    sides = {
        "on": decoder.generate(text, max_new_tokens=LENGTH, session=session.copy()),
        "off": plain.generate(text, max_new_tokens=LENGTH, session=session.copy()),
    }
    found: dict[str, list[int]] = {side: [] for side in sides}
    for side in cycle(sides):
        if all(len(tokens) == LENGTH for tokens in found.values()):
            break
        if (step := next(sides[side], None)) is not None:
            found[side] += step.tokens
    assert found == {"on": expected, "off": expected}
    assert said(decoder, text, session=session.copy_as_of(text, tables, len(text) - 1)) == expected


def test_a_step_that_is_interrupted_leaves_the_session_whole(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    step, calls = NativeKernels.step, iter(range(4))

    def interrupted(*arguments: Any) -> None:
        step(*arguments)
        if next(calls, None) is None:
            raise KeyboardInterrupt

    session, expected = Session(model), said(AutoregressiveDecoder(model), PROMPT)
    steps, text = budgeted(model, NEARLY_FREE).generate(PROMPT, max_new_tokens=LENGTH, session=session), [*PROMPT]
    monkeypatch.setattr(NativeKernels, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        text.extend(token for each in steps for token in each.tokens)
    monkeypatch.undo()
    assert session.ids == text
    rest = said(budgeted(model, NEARLY_FREE), text, LENGTH + len(PROMPT) - len(text), session=session)
    assert [*text, *rest][len(PROMPT) :] == expected


def test_a_model_that_is_patched_in_the_middle_goes_on_in_transformers(model: Any) -> None:
    session, expected = Session(model), said(AutoregressiveDecoder(model), PROMPT)
    text = [*PROMPT, *said(budgeted(model, NEARLY_FREE), PROMPT, 8, session=session)]
    prefix = session.prefix
    assert isinstance(prefix, HybridPrefix)
    logits = prefix.copy().next_logits(text[-1:])
    with torch.autocast("cpu", torch.bfloat16, enabled=True):
        found = [prefix.next_logits(text[-1:]), prefix.branch_logits(StepInputs.chain(TEXT[:3]))[0]]
    prefix.keep(len(text), [0])
    assert all(bool(row.isfinite().all()) for row in found)
    # And back in C, which reads what transformers has read meanwhile.
    prefix.next_logits([9])
    prefix.rewind(len(text) - 1)
    assert prefix.rewindable_to(len(text) - 1) == prefix.length
    prefix.next_logits(text[prefix.length : -1])
    torch.testing.assert_close(prefix.next_logits(text[-1:]), logits)
    assert said(budgeted(model, NEARLY_FREE), text, LENGTH - 8, session=Session(model)) == expected[8:]


def test_the_forward_pass_in_c_is_compared_with_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(ARCHITECTURES["lfm2"], mlp=("w3", "w1", "w2"))
    monkeypatch.setitem(ARCHITECTURES, "lfm2", wrong)  # type: ignore[arg-type]
    model = model_of("lfm2")
    assert native_support(model).reason == "its steps in C give it other logits"
    assert isinstance(runner_of(model).new_prefix(), ChainPrefix)
    assert lookahead_support(model).one_chain


def test_a_model_met_under_autocast_or_a_hook_for_all_modules_is_read_by_transformers_while_that_lasts() -> None:
    def hook(*_: Any) -> None:
        """Changes nothing, which nobody knows."""

    for make in TYPES.values():
        model = native_model(make())
        expected = said(AutoregressiveDecoder(model), PROMPT)
        for change in (lambda: torch.autocast("cpu"), lambda: register_module_forward_hook(hook)):
            new = native_model(make())
            native_kernels.cache_clear()
            with change():
                assert len(said(budgeted(new, NEARLY_FREE), PROMPT)) == len(expected)
                assert not native_support(new).supported
            assert native_support(new).supported
            assert said(budgeted(new, NEARLY_FREE), PROMPT) == expected
