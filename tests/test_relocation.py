"""Weights that are moved elsewhere in memory: texts go on, and edits are still noticed."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
import torch
import transformers as hf

from decoding import AutoregressiveDecoder, LookaheadDecoder, Session, native_support, relocate_weights, trust_weights
from lade_chat.loading import weights as loading
from lade_chat.loading.weights import WeightCopies
from tests.models import tokens_of

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]


def model_of(dtype: torch.dtype) -> hf.PreTrainedModel:
    torch.manual_seed(3)
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {"vocab_size": 90, "eos_token_id": None, "tie_word_embeddings": True}
    config = hf.LlamaConfig(num_key_value_heads=2, initializer_range=0.5, **tokens, **sizes)
    return hf.LlamaForCausalLM(config).eval().to(dtype)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_a_session_goes_on_with_moved_weights_and_an_edit_is_noticed(dtype: torch.dtype, trusted: bool) -> None:
    model = model_of(dtype)
    if trusted:
        trust_weights(model)
    decoder, session = LookaheadDecoder(model), Session(model)
    expected = tokens_of(AutoregressiveDecoder(model).generate(PROMPT, max_new_tokens=40))
    first = tokens_of(decoder.generate(PROMPT, max_new_tokens=20, session=session))
    before = {name: weight.data_ptr() for name, weight in model.named_parameters()}
    relocate_weights(model, {weight: weight.data.clone() for weight in model.parameters()})
    assert all(weight.data_ptr() != before[name] for name, weight in model.named_parameters())
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight
    assert session.reusable(session.ids) == len(session.ids) - 1  # nothing is prefilled again
    assert first + tokens_of(decoder.generate(session.ids, max_new_tokens=20, session=session)) == expected
    with torch.no_grad():
        weight = model.get_input_embeddings().weight
        weight.copy_(weight.roll(7, 0))
    edited = tokens_of(AutoregressiveDecoder(model).generate(PROMPT, max_new_tokens=40))
    assert tokens_of(decoder.generate(PROMPT, max_new_tokens=40, session=session)) == edited != expected


def test_a_copy_of_another_shape_is_refused_and_nothing_moves() -> None:
    model = model_of(torch.float32)
    one, other = list(model.parameters())[:2]
    before = one.data_ptr()
    with pytest.raises(ValueError, match="does not fit a weight"):
        relocate_weights(model, {one: one.data.clone(), other: torch.zeros(3)})
    assert one.data_ptr() == before


def test_copies_take_the_weights_place_only_when_they_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(torch.bfloat16)
    if not native_support(model).supported:
        pytest.skip("no C compiler here")
    monkeypatch.setattr(loading, "MIN_BYTES", 0)
    weights = {name: (weight.data_ptr(), weight.detach().clone()) for name, weight in model.named_parameters()}
    idle, cancelled, copies = (WeightCopies(model) for _ in range(3))
    idle.settle(wait=True)
    cancelled.begin()
    cancelled.cancel()
    cancelled.settle(wait=True)
    assert all(weight.data_ptr() == weights[name][0] for name, weight in model.named_parameters())
    with monkeypatch.context() as refusing:
        refusing.setattr(loading.mmap, "mmap", Mock(side_effect=OSError("Cannot allocate memory")))
        (refused := WeightCopies(model)).begin()
    refused.settle(wait=True)
    assert all(weight.data_ptr() == weights[name][0] for name, weight in model.named_parameters())
    copies.begin()
    copies.settle(wait=True)
    for name, weight in model.named_parameters():
        assert weight.data_ptr() != weights[name][0]
        assert torch.equal(weight, weights[name][1])
