"""Int8: exact products, independent rows, and the same text with lookahead on and off."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, SamplingConfig, quantize
from decoding.native.kernels import native_kernels
from decoding.quantization.int8 import Int8Linear, RowEmbedding, max_weight
from decoding.quantization.packed import PackedLinear
from decoding.runner import runner_of
from lade_chat.paths import bundled_model_path
from tests.costs import NEARLY_FREE, budgeted
from tests.grid import PROMPT, with_few_tokens
from tests.loads import load, refusal
from tests.models import CONFIGS, random_model, random_prompt
from tests.pairs import LONG, in_turn, pairs

LENGTH = 20


def layers_of(model: Any) -> list[Any]:
    return [module for module in model.modules() if isinstance(module, Int8Linear | PackedLinear)]


def layer_of(model: Any) -> Any:
    return layers_of(model)[0]


@torch.inference_mode()
def test_rows_do_not_depend_on_the_rows_beside_them() -> None:
    model = quantize_copy(random_model("llama", layers=1).float())
    layer = layer_of(model)
    rows = torch.randn(1, 33, layer.in_features)
    expected = layer(rows)
    for count in (1, 2, 3, 5, 8, 16):
        for first in range(0, 33 - count, 7):
            assert torch.equal(layer(rows[:, first : first + count].clone()), expected[:, first : first + count])


@torch.inference_mode()
def test_products_are_those_of_the_rounded_numbers() -> None:
    model = random_model("llama", layers=1).float()
    layer = model.lm_head
    rows = 3 * torch.randn(5, layer.in_features)
    rows[2] = 0
    quantised = layer_of_linear(layer)
    found = quantised(rows)
    if isinstance(quantised, PackedLinear):  # a scale for each 32 numbers
        rounded = rounded_in_blocks(rows, 32), rounded_in_blocks(layer.weight, 32, torch.half)
    elif native_kernels() is not None:  # by tiles
        rounded = rounded_in_blocks(rows, 64), rounded_in_blocks(layer.weight, layer.in_features)
    else:
        scales = layer.weight.abs().amax(1, keepdim=True) / max_weight()
        rounded = rounded_in_blocks(rows, layer.in_features), (layer.weight / scales).round().double() * scales
    # A number half-way between two integers may be rounded otherwise.
    assert (found - rounded[0] @ rounded[1].t()).norm() < 1e-3 * found.norm()
    assert (found - layer(rows)).norm() < 0.03 * layer(rows).norm()


@pytest.mark.parametrize("broken", [torch.nan, torch.inf])
@pytest.mark.parametrize("width", [64, 80], ids=["in C", "in PyTorch"])
@torch.inference_mode()
def test_nan_and_infinity_are_not_rounded_away(width: int, broken: float) -> None:
    layer, rows = nn.Linear(width, 40), torch.randn(4, width)
    layer.weight[3, 5] = rows[1, 2] = broken
    found = layer_of_linear(layer)(rows).isfinite()
    assert not found[1].any()
    assert not found[:, 3].any()
    assert found[2, :3].all()


@pytest.mark.parametrize(("number", "family"), enumerate(sorted(CONFIGS) if LONG else sorted(CONFIGS)[::2]))
def test_on_and_off_say_the_same(number: int, family: str) -> None:
    model = random_model(family)
    quantize(model)
    prompt = random_prompt(11)
    expected = tokens_of(AutoregressiveDecoder(model), prompt)
    for decoder in in_turn((LookaheadDecoder(model, LookaheadConfig(5, 4, 5)), budgeted(model, NEARLY_FREE)), number):
        assert tokens_of(decoder, prompt) == expected


@pytest.mark.parametrize(
    ("family", "settings"),
    pairs(
        ("llama", "qwen2", "gpt_neox", "gemma3"), ({"temperature": 0.8, "top_k": 5}, {"temperature": 1.2, "top_p": 0.9})
    ),
    ids=str,
)
def test_a_seed_draws_the_same_text_on_and_off(family: str, settings: dict[str, Any]) -> None:
    model = with_few_tokens(family)
    quantize(model)
    sampling = SamplingConfig(seed=7, **settings)
    expected = tokens_of(AutoregressiveDecoder(model), PROMPT, sampling)
    assert tokens_of(budgeted(model, NEARLY_FREE), PROMPT, sampling) == expected


def test_all_linear_layers_are_quantised() -> None:
    model, done = random_model("gpt2").float(), list[tuple[int, int]]()
    before = model.get_input_embeddings().weight.clone()
    quantize(model, "int8", on_layer=lambda *progress: done.append(progress))
    assert len(layers_of(model)) == 2 * 4 + 1
    assert done == [(index, 9) for index in range(1, 10)]
    assert torch.equal(model.get_input_embeddings().weight, before)


def test_an_embedding_from_bfloat16_stays_as_small_as_it_was() -> None:
    model = random_model("llama", layers=1).float()
    weight = model.get_input_embeddings().weight
    weight.data.copy_(weight.bfloat16())
    ids = torch.tensor([[1, 5, 3]])
    expected = model.get_input_embeddings()(ids)
    quantize(model)
    embedding = model.get_input_embeddings()
    assert isinstance(embedding, RowEmbedding)
    assert embedding.get_buffer("weight").dtype == torch.bfloat16
    assert torch.equal(embedding(ids), expected)
    assert model.dtype == torch.float32


def test_activations_can_be_wider_than_the_embedding() -> None:
    model = random_model("llama", layers=1).bfloat16()
    quantize(model, dtype=torch.float32)
    assert model(torch.tensor([[1, 5, 3]])).logits.dtype == model.dtype == torch.float32
    assert model.get_input_embeddings().weight.dtype == torch.bfloat16
    model.double()
    assert model(torch.tensor([[1, 5, 3]])).logits.dtype == torch.float64
    with pytest.raises(NotImplementedError, match="stays on the CPU"):
        model.to("meta")


def test_a_copy_says_the_same_and_a_change_is_noticed() -> None:
    model = random_model("qwen2")
    quantize(model)
    ids = torch.tensor([random_prompt(6)])
    assert torch.equal(copy.deepcopy(model)(ids).logits, model(ids).logits)
    edition = runner_of(model).refresh().edition
    assert runner_of(model).refresh().edition == edition
    model.lm_head.bias = torch.ones(model.lm_head.out_features)
    assert runner_of(model).refresh().edition == edition + 1


@torch.no_grad()
def test_rows_changed_in_place_are_read_anew() -> None:
    layer = layer_of(quantize_copy(random_model("llama", layers=1).float()))
    rows = torch.randn(1, 3, layer.in_features)
    first = layer(rows)
    rows.mul_(2)
    torch.testing.assert_close(layer(rows), 2 * first)


def test_quantising_goes_on_where_it_was_interrupted() -> None:
    model, done = random_model("llama").bfloat16(), list[tuple[int, int]]()
    whole = copy.deepcopy(model)
    quantize(whole, dtype=torch.float32)

    def interrupt(*progress: int) -> None:
        done.append(progress)
        if len(done) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quantize(model, dtype=torch.float32, on_layer=interrupt)
    quantize(model, dtype=torch.float32, on_layer=interrupt)
    assert done[5:] == [(index + 1, done[0][1] - 5) for index in range(done[0][1] - 5)]
    ids = torch.tensor([random_prompt(6)])
    assert torch.equal(model(ids).logits, whole(ids).logits)


def test_refusals(tmp_path: Path) -> None:
    model = random_model("llama", layers=1).float()
    with pytest.raises(ValueError, match="must be one of int8, not 'int3'"):
        quantize(model, "int3")
    for dtype in ("float32", torch.int8):
        with pytest.raises(ValueError, match="dtype must be a floating-point one of torch, not"):
            quantize(model, dtype=dtype)
    assert not layers_of(model)
    with pytest.raises(NotImplementedError, match="on a CPU; this one is on meta"):
        quantize(random_model("llama", layers=1).to("meta"))
    quantize(model)
    with pytest.raises(NotImplementedError, match="quantised already"):
        quantize(model)
    with pytest.raises(NotImplementedError, match="is not saved"):
        model.save_pretrained(tmp_path)
    with pytest.raises(NotImplementedError, match="no linear layers"):
        quantize(random_model("llama", layers=1).model.embed_tokens)


def quantize_copy(model: Any) -> Any:
    other = copy.deepcopy(model)
    quantize(other)
    return other


def layer_of_linear(layer: nn.Linear) -> Any:
    model = random_model("llama", layers=1)
    model.lm_head = copy.deepcopy(layer)
    quantize(model, dtype=torch.float32)
    return model.lm_head


def rounded_in_blocks(numbers: torch.Tensor, size: int, of_scales: torch.dtype = torch.float32) -> torch.Tensor:
    """Rounded to int8, with a scale for each so many numbers of a row; float64."""
    blocks = numbers.unflatten(1, (-1, size))
    scales = (blocks.abs().amax(2, keepdim=True).clamp_min(1e-30) / 127).to(of_scales).float()
    return ((blocks / scales).round().double() * scales).flatten(1)


def tokens_of(decoder: Any, prompt: list[int], sampling: SamplingConfig | None = None) -> list[int]:
    steps = decoder.generate(prompt, max_new_tokens=LENGTH, sampling=sampling)
    return [token for step in steps for token in step.tokens]


def test_the_chat_quantises_what_it_loads() -> None:
    loaded = load(None, quantize="int8")
    assert loaded.info.dtype == "int8"
    assert loaded.info.parameters == load(None).info.parameters
    assert loaded.info.lookahead_supported
    assert isinstance(loaded.model.lm_head, Int8Linear | PackedLinear)
    for options, message in (
        ({"quantize": "int4"}, "--quantize knows only int8."),
        ({"quantize": "int8", "compiled": True}, "int8 does not go with --compile, --device-map or several"),
    ):
        assert message in refusal(str(bundled_model_path()), **options)
