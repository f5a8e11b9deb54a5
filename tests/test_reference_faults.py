"""Faults known of the original implementation, each with a test that it does not occur here.

Others have theirs elsewhere: a lost bonus token, N = 2 and ends inside a run with the decoder, wrong streamed tokens
with ``lade``, a system prompt lost, prompts cut short and one model's roles with the conversations.
"""

from __future__ import annotations

import functools
from importlib.metadata import requires

import pytest
import torch
import transformers as hf

import decoding
from decoding import (
    AutoregressiveDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    SamplingConfig,
    Session,
    lade,
)
from decoding.branches.window import JacobiWindow
from decoding.lade.decoding import CONFIG_MAP
from tests.models import cached_layers, hf_greedy, random_model, random_prompt, successor_model, tokens_of

CYCLE = [10, 11, 12, 13, 14, 15]
SIZES = LookaheadConfig(4, 4, 4)


def cycling():
    return successor_model(dict(zip(CYCLE, [*CYCLE[1:], CYCLE[0]], strict=True)))


@pytest.fixture
def augmented(monkeypatch):
    CONFIG_MAP.clear()
    monkeypatch.delenv("USE_LADE", raising=False)
    lade.augment_all()
    lade.config_lade(LEVEL=4, WINDOW_SIZE=4, GUESS_SET_SIZE=4)
    yield
    CONFIG_MAP.clear()
    lade.restore()


def asked(model, input_ids, **arguments):
    arguments = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0, **arguments}
    return model.generate(input_ids, attention_mask=torch.ones_like(input_ids), **arguments)


def test_the_replys_own_tokens_are_candidates_as_they_were_said():
    """The prompt shows nothing of the cycle; once the reply has been round, all that it proposes is right."""
    session = Session(cycling())
    steps = list(
        LookaheadDecoder(session.model, LookaheadConfig(0, 4, 1)).generate([10], max_new_tokens=20, session=session)
    )
    assert tokens_of(steps) == ([*CYCLE[1:], CYCLE[0]] * 4)[:20]
    later = [step for step in steps if step.candidates]
    assert later
    assert all(step.accepted == step.candidates or step.finish_reason for step in later)
    assert {path for _, path in session.tables[Origin.CONTEXT].after([11, 12], 4)} == {(13, 14, 15, 10)}


def test_sampling_with_lookahead_off_samples(augmented, monkeypatch):
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    texts = {
        tuple(tokens_of(AutoregressiveDecoder(model).generate(prompt, max_new_tokens=12, sampling=sampling)))
        for sampling in (None, SamplingConfig(temperature=2.0, seed=1), SamplingConfig(temperature=2.0, seed=2))
    }
    assert len(texts) == 3
    monkeypatch.setenv("USE_LADE", "0")
    torch.manual_seed(1)
    sampled = asked(model, torch.tensor([prompt]), do_sample=True, temperature=2.0)
    assert not torch.equal(sampled, asked(model, torch.tensor([prompt])))


class OnlyOdd(hf.LogitsProcessor):
    def __call__(self, input_ids, scores):
        scores[:, ::2] = -torch.inf
        return scores


def test_any_logits_processor_is_taken(augmented, monkeypatch):
    model, prompt = random_model("llama", layers=1), torch.tensor([random_prompt(9)])
    arguments = {"logits_processor": hf.LogitsProcessorList([OnlyOdd()]), "repetition_penalty": 1.3, "top_k": 9}
    said = asked(model, prompt, **arguments)
    assert set((said[0, 9:] % 2).tolist()) == {1}
    drawn = asked(model, prompt, do_sample=True, **arguments)
    assert set((drawn[0, 9:] % 2).tolist()) == {1}
    monkeypatch.setenv("USE_LADE", "0")
    assert torch.equal(asked(model, prompt, **arguments), said)


def test_batches_and_other_families_than_llama_are_answered(augmented):
    model = random_model("gpt2")
    prompts = torch.tensor([random_prompt(9), random_prompt(9, seed=1)])
    both = asked(model, prompts)
    for row, prompt in zip(both.tolist(), prompts, strict=True):
        assert row[9:] == hf_greedy(model, prompt.tolist(), 12)
        assert asked(model, prompt[None])[0].tolist() == row
    assert len(CONFIG_MAP["log"]) >= 2


def test_plain_generate_runs_beside_it_and_afterwards(augmented, monkeypatch):
    model, prompt = random_model("llama", layers=1), torch.tensor([random_prompt(9)])
    said = asked(model, prompt)
    beams = asked(model, prompt, num_beams=2)
    monkeypatch.setenv("USE_LADE", "0")
    assert torch.equal(asked(model, prompt), said)
    lade.restore()
    assert torch.equal(asked(model, prompt), said)
    assert torch.equal(asked(model, prompt, num_beams=2), beams)
    assert torch.equal(asked(model, prompt, custom_generate=decoding.generate), said)


def test_no_version_is_pinned_and_no_kernel_forked():
    needs = [need for need in requires("lade-chat") or [] if "extra ==" not in need]
    assert any(need.startswith("transformers") for need in needs)
    assert not [need for need in needs if "==" in need or "@" in need or need.startswith("flash")]


@pytest.fixture
def forwards(monkeypatch):
    """What each forward pass of the model is given, and how many rows its head reads."""
    model, given = random_model("llama", layers=1), []
    forward, head = model.forward, model.lm_head.forward

    @functools.wraps(forward)
    def noted(**kwargs):
        given.append({**kwargs, "tokens": kwargs["input_ids"].shape[1]})
        return forward(**kwargs)

    def counted(hidden):
        given[-1]["rows"] = hidden.shape[1]
        return head(hidden)

    monkeypatch.setattr(model, "forward", noted)
    monkeypatch.setattr(model.lm_head, "forward", counted)
    return model, given


def test_logits_are_computed_for_rows_that_are_read_alone(forwards):
    model, given = forwards
    decoder = LookaheadDecoder(model, LookaheadConfig(7, 5, 3))
    given.clear()
    steps = list(decoder.generate(random_prompt(20), max_new_tokens=20))
    assert given[0]["rows"] == 1
    for step, forward in zip(steps[1:-1], given[1:], strict=False):
        assert forward["tokens"] == step.forward_tokens
        assert forward["rows"] == 1 + step.candidates + 7
    assert max(forward["tokens"] - forward["rows"] for forward in given[1:]) >= 7 * 3


def test_masks_are_built_for_steps_over_branches_alone_and_the_windows_part_once(forwards):
    model, given = forwards
    given.clear()
    list(AutoregressiveDecoder(model).generate(random_prompt(20), max_new_tokens=6))
    assert [forward["attention_mask"] for forward in given] == [None] * 6
    windows = [JacobiWindow(7, 3, range(7)) for _ in range(2)]
    assert windows[0].visibility() is windows[1].visibility()


def test_keys_and_values_are_not_copied_every_step():
    model = random_model("llama", layers=1)
    session, places = Session(model), []
    for _ in LookaheadDecoder(model, SIZES).generate(random_prompt(20), max_new_tokens=60, session=session):
        places.append([keys.data_ptr() for keys, _ in cached_layers(session)])
    assert len(places) > 10
    assert places == [places[0]] * len(places)
