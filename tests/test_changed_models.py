"""A session outlives any change of its model: the next text is read anew, and is what the changed model says."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest
import torch
from torch import nn
from transformers import LogitsProcessor

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    generate,
    lookahead_support,
    trust_weights,
)
from decoding.runner import runner_of
from tests.grid import METHODS, said
from tests.models import CONFIGS, PLAIN_ONLY, VOCABULARY, hf_greedy, random_model, random_prompt
from tests.pairs import LONG


class Recording(LogitsProcessor):
    """Keeps the first scores, those after the prompt."""

    def __init__(self) -> None:
        self.scores: torch.Tensor | None = None

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        if self.scores is None:
            self.scores = scores.clone()
        return scores


def scores_of(decoder: Decoder, ids: list[int], session: Session | None = None) -> torch.Tensor:
    recording = Recording()
    list(decoder.generate(ids, max_new_tokens=1, session=session, logits_processor=[recording]))
    assert recording.scores is not None
    return recording.scores


def train(model: Any) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    model(torch.tensor([random_prompt(8)]), labels=torch.tensor([random_prompt(8)])).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def in_inference_mode(model: Any) -> None:
    with torch.inference_mode():
        model.model.layers[0].self_attn.v_proj.weight.mul_(3)


def load_state_dict(model: Any) -> None:
    model.load_state_dict(random_model("llama", seed=1).state_dict())


def assign_state_dict(model: Any) -> None:
    model.load_state_dict(random_model("llama", seed=1).state_dict(), assign=True)


def exchange_columns(model: Any) -> None:
    weight = model.model.layers[0].self_attn.v_proj.weight.data
    weight[:, 2:6] = weight[:, [4, 5, 2, 3]]


def turn_signs(model: Any) -> None:
    model.model.norm.weight.data.neg_()


def edit_one_element(model: Any) -> None:
    model.model.layers[0].self_attn.v_proj.weight.data[3, 4] += 40


def replace_layer(model: Any) -> None:
    model.model.layers[1] = random_model("llama", seed=2).model.layers[1]


def exchange_layers(model: Any) -> None:
    layers = model.model.layers
    layers[0], layers[1] = layers[1], layers[0]


def patch_layer(model: Any) -> None:
    layer = model.model.layers[0].self_attn.v_proj
    layer.forward = lambda rows: 3 * nn.functional.linear(rows, layer.weight)


def hook_layer(model: Any) -> None:
    model.model.layers[0].register_forward_hook(lambda module, args, output: output * 2 - args[0])


def set_attribute(model: Any) -> None:
    model.model.layers[0].self_attn.scaling *= 7


def edit_buffer(model: Any) -> None:
    model.model.rotary_emb.inv_freq.data.mul_(3)


def in_single_precision(model: Any) -> None:
    # Exactly representable in both, so that the two say the same up to rounding.
    model.float()


def smaller_vocabulary(model: Any) -> None:
    model.resize_token_embeddings(VOCABULARY - 20)


def larger_vocabulary(model: Any) -> None:
    model.resize_token_embeddings(VOCABULARY + 20, mean_resizing=False)


CHANGES = [
    train,
    in_inference_mode,
    load_state_dict,
    assign_state_dict,
    exchange_columns,
    turn_signs,
    edit_one_element,
    replace_layer,
    exchange_layers,
    patch_layer,
    hook_layer,
    set_attribute,
    edit_buffer,
    in_single_precision,
    smaller_vocabulary,
    larger_vocabulary,
]


def short_prompt(seed: int = 0) -> list[int]:
    """Tokens that a smaller vocabulary has too."""
    return [token % (VOCABULARY - 30) + 3 for token in random_prompt(14, seed)]


@pytest.mark.parametrize(("change", "name"), zip(CHANGES, cycle(METHODS), strict=False))
def test_a_session_says_what_the_changed_model_says(change: Callable[[Any], None], name: str) -> None:
    model, prompt = random_model("llama"), short_prompt()
    decoder, session = METHODS[name](model), Session(model)
    said(decoder, prompt, session)
    # Of the cached text all but the last few tokens are common.
    text = [*prompt, 5, 6, 7]
    change(model)
    scores = scores_of(AutoregressiveDecoder(model), text)
    expected = said(AutoregressiveDecoder(model), text)
    torch.testing.assert_close(scores_of(decoder, text, session), scores)
    assert said(decoder, text, session) == expected
    # A decoder and a session of the changed model's own say the same.
    assert said(METHODS[name](model), text, Session(model)) == expected


@pytest.mark.parametrize("change", [train, edit_one_element, in_single_precision])
def test_a_recurrent_state_is_dropped_too(change: Callable[[Any], None]) -> None:
    model, prompt = random_model("mamba"), short_prompt()
    session, decoder = Session(model), AutoregressiveDecoder(model)
    said(decoder, prompt, session)
    text = [*session.ids, 5, 6]
    if change is train:
        train(model)
    elif change is in_single_precision:
        model.float()
    else:
        model.backbone.layers[0].mixer.in_proj.weight.data[3, 4] += 40
    assert said(decoder, text, session) == said(decoder, text)


def test_compiled_steps_follow_the_model_too() -> None:
    model = random_model("llama", layers=1)
    # Steps of one token alone, so that little is compiled.
    decoder, session = AutoregressiveDecoder(model), Session(model, compiled="eager")
    said(decoder, [5], session)
    for change in (edit_one_element, patch_layer):
        change(model)
        assert said(decoder, [5], session) == said(AutoregressiveDecoder(model), [5])


def test_a_session_handed_to_generate_is_read_anew_too() -> None:
    model, prompt = random_model("llama"), short_prompt()
    session = Session(model)
    asked = {"max_new_tokens": 12, "do_sample": False, "custom_generate": generate, "session": session}
    ids = torch.tensor([prompt])
    model.generate(ids, attention_mask=torch.ones_like(ids), **asked)
    load_state_dict(model)
    found = model.generate(ids, attention_mask=torch.ones_like(ids), **asked)
    assert found[0, len(prompt) :].tolist() == hf_greedy(model, prompt, 12)


def test_a_copy_of_a_session_notices_a_change_by_itself() -> None:
    model, prompt = random_model("llama"), short_prompt()
    session, decoder = Session(model), METHODS["lookahead"](model)
    said(decoder, prompt, session)
    other = session.copy()
    load_state_dict(model)
    expected = said(AutoregressiveDecoder(model), prompt)
    assert said(decoder, prompt, session) == expected
    assert said(decoder, prompt, other) == expected


@pytest.mark.parametrize("family", [*(CONFIGS if LONG else [*CONFIGS][::3]), "mamba"])
def test_a_text_is_no_change_of_a_model(family: str) -> None:
    """Nothing that decoding does to a model makes it read a text again."""
    model, prompt = random_model(family), random_prompt(14)
    session, decoder = Session(model), LookaheadDecoder(model, LookaheadConfig(3, 3, 3))
    for _ in range(3):
        said(decoder, [*session.ids, *prompt], session, 6)
        step = next(decoder.generate([*session.ids, *prompt], max_new_tokens=1, session=session))
        if family in PLAIN_ONLY:
            assert step.forward_tokens <= len(prompt) + 1
        else:
            assert step.forward_tokens <= len(prompt) + 1 < len(session.ids)


def test_a_hook_that_acts_on_the_last_row_alone_turns_lookahead_off_while_it_is_there() -> None:
    model, prompt = random_model("llama"), random_prompt(14)
    decoder = METHODS["lookahead"](model)
    expected = said(decoder, prompt)

    def steer(module: nn.Module, args: Any, output: torch.Tensor) -> torch.Tensor:
        steered = output.clone()
        steered[:, -1] *= -2
        return steered

    handle = model.model.layers[1].register_forward_hook(steer)
    assert not lookahead_support(model).supported
    assert said(decoder, prompt) == hf_greedy(model, prompt, 12) != expected
    handle.remove()
    assert decoder.support.supported
    assert said(decoder, prompt) == expected


def test_a_deep_copy_has_a_state_of_its_own() -> None:
    model, prompt = random_model("llama"), short_prompt()
    session, decoder = Session(model), METHODS["lookahead"](model)
    before = said(decoder, prompt, session)
    train(copy.deepcopy(model))
    assert said(decoder, prompt, session) == before


def test_a_patched_class_and_a_hook_of_all_modules_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt = random_model("llama"), random_prompt(14)
    session, decoder = Session(model), LookaheadDecoder(model, LookaheadConfig(3, 3, 3))
    said(decoder, prompt, session)
    kind = type(model.model.layers[0].mlp)
    usual = kind.forward
    monkeypatch.setattr(kind, "forward", lambda self, rows: -2 * usual(self, rows))
    patched = said(AutoregressiveDecoder(model), prompt)
    assert said(decoder, prompt, session) == patched
    handle = torch.nn.modules.module.register_module_forward_hook(
        lambda module, _inputs, output: 3 * output if isinstance(module, kind) else None
    )
    try:
        hooked = said(AutoregressiveDecoder(model), prompt)
        assert said(decoder, prompt, session) == hooked
    finally:
        handle.remove()
    assert said(decoder, prompt, session) == patched
    assert patched != hooked


def test_trusted_weights_are_not_read_but_counted_edits_are_noticed() -> None:
    model = random_model("llama")
    trust_weights(model)
    runner = runner_of(model)
    runner.refresh()
    edition = runner.state.edition
    runner.refresh()
    assert runner.state.edition == edition
    model.lm_head.weight.data[0, 0] += 1
    runner.refresh()
    assert runner.state.edition == edition, "edits that PyTorch does not count are the caller's promise"
    with torch.no_grad():
        model.lm_head.weight[0, 0] += 1
    runner.refresh()
    assert runner.state.edition == edition + 1
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.clone())
    runner.refresh()
    assert runner.state.edition == edition + 2


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_a_model_may_change_between_its_session_and_the_first_text(family: str) -> None:
    model, prompt = random_model(family, layers=2).float(), random_prompt(12) * 2
    session = Session(model)
    model.double()
    decoder = LookaheadDecoder(model, LookaheadConfig(4, 3, 4))
    assert said(decoder, prompt, session) == hf_greedy(model, prompt, 12)


def test_positions_that_were_added_serve_the_first_text_after_that() -> None:
    model = random_model("gpt2")
    prompt, session = random_prompt(250), Session(model)
    with pytest.warns(UserWarning, match="it ends there"):
        assert len(said(AutoregressiveDecoder(model), prompt, session, 20)) == 7
    model.transformer.wpe = nn.Embedding(512, model.config.n_embd, dtype=model.dtype)
    model.config.n_positions = 512
    assert len(said(AutoregressiveDecoder(model), prompt, session, 20)) == 20
