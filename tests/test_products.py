"""Products by every way are the usual ones up to rounding, and follow what becomes of the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder
from decoding.products import Products, look_again, products_of
from decoding.ways import MOST_ROWS, Way, measure
from tests.models import random_model, random_prompt

needs_onednn = pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN")
ALL_WAYS = (Way.USUAL, Way.TURNED, pytest.param(Way.PACKED, marks=needs_onednn))
CHANGES: dict[str, Callable[[nn.Linear], object]] = {
    "in place": lambda layer: torch.no_grad()(layer.weight.mul_)(2),
    "through data": lambda layer: layer.weight.data.mul_(2),
    "one element": lambda layer: layer.weight.data[70, 31].add_(5),
    "a block": lambda layer: layer.weight.data[7:47, 9:40].add_(1),
    "a row turned round": lambda layer: layer.weight.data[41].mul_(-1),
    "rows exchanged": lambda layer: layer.weight.data.copy_(layer.weight.data.roll(1, 0)),
    "columns exchanged": lambda layer: layer.weight.data.copy_(layer.weight.data.roll(1, 1)),
}


class Layers(nn.Module):
    """Two layers that share a weight, one of another shape with a bias, and one that is no plain matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(48, 96, bias=False), nn.Linear(48, 96, bias=False)
        self.other.weight = self.one.weight
        self.biased = nn.Linear(96, 48)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(48, 48))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.normed(self.biased(self.one(rows) + self.other(rows)))
        return found


def everywhere(way: Way) -> dict[tuple[int, ...], dict[int, Way]]:
    return {shape: dict.fromkeys(range(2, MOST_ROWS + 1), way) for shape in ((96, 48), (48, 96), (48, 48))}


@pytest.mark.parametrize("way", ALL_WAYS)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 17, MOST_ROWS, MOST_ROWS + 1])
@torch.no_grad()
def test_every_way_gives_the_product(way: Way, count: int) -> None:
    torch.manual_seed(0)
    layers = Layers()
    products = Products(layers, everywhere(way), 1)
    rows = torch.randn(1, count, 48)
    expected = layers(rows)
    with products.faster():
        found = layers(rows)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous()
    assert torch.equal(layers(rows), expected)


@torch.no_grad()
def test_one_row_and_rows_of_other_shapes_are_left_alone() -> None:
    layers = Layers()
    products = Products(layers, everywhere(Way.TURNED), 1)
    for rows in (torch.randn(1, 1, 48), torch.randn(2, 3, 48), torch.randn(5, 48)):
        expected = layers(rows)
        with products.faster():
            assert torch.equal(layers(rows), expected)


@needs_onednn
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@torch.no_grad()
def test_packed_copies_follow_their_weights(change: Callable[[nn.Linear], object]) -> None:
    layer = nn.Linear(48, 96)
    products = Products(layer, everywhere(Way.PACKED), 1)
    rows = torch.randn(1, 4, 48)
    with products.faster():
        layer(rows)
    change(layer)
    assert products.look_again()
    with products.faster():
        torch.testing.assert_close(layer(rows), functional.linear(rows, layer.weight, layer.bias))


REPLACEMENTS: dict[str, Callable[[Any], object]] = {
    "another weight": lambda model: setattr(model.lm_head, "weight", nn.Parameter(model.lm_head.weight.detach() * 2)),
    "moved": lambda model: setattr(model.lm_head.weight, "data", model.lm_head.weight.data * 2),
    "another dtype": lambda model: model.to(torch.bfloat16),
    "a dtype that is not timed": lambda model: model.double(),
    "another layer": lambda model: setattr(model, "lm_head", nn.Linear(model.lm_head.in_features, 300)),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
def test_a_model_whose_matrices_were_replaced_is_timed_anew(replace: Callable[[Any], object]) -> None:
    model = random_model("llama").float()
    products = products_of(model)
    look_again(model, closely=True)
    assert products_of(model) is products
    replace(model)
    look_again(model, closely=True)
    assert products_of(model) is not products


@needs_onednn
@pytest.mark.parametrize("width", [46, 47, 48])
@torch.no_grad()
def test_a_weight_within_a_larger_one_is_followed_too(width: int) -> None:
    layer = nn.Linear(width, 96, bias=False).to(torch.bfloat16)
    layer.weight = nn.Parameter(torch.randn(1 + 96 * width, dtype=torch.bfloat16)[1:].view(96, width))
    products = Products(layer, {(96, width): {4: Way.PACKED}}, 1)
    rows = torch.randn(1, 4, width, dtype=torch.bfloat16)
    for _ in range(2):
        layer.weight.data[3].mul_(-1)
        assert products.look_again()
        with products.faster():
            torch.testing.assert_close(layer(rows), functional.linear(rows, layer.weight))


@needs_onednn
@torch.no_grad()
def test_layers_that_share_a_weight_share_its_copy() -> None:
    layers = Layers()
    products = Products(layers, everywhere(Way.PACKED), 1)
    assert products.packed_bytes == 0
    with products.faster():
        layers(torch.randn(1, 4, 48))
    assert products.packed_bytes == layers.one.weight.nbytes + layers.biased.weight.nbytes


def test_a_weight_changed_between_two_texts_changes_the_answer() -> None:
    model = random_model("llama").float()
    decoder = LookaheadDecoder(model, LookaheadConfig(3, 3, 3))
    ids = random_prompt(20)
    list(decoder.generate(ids, max_new_tokens=20))
    for parameter in model.parameters():
        parameter.data.mul_(1.7)
        parameter.data.add_(0.05 * torch.randn_like(parameter))
    expected = [step.tokens[0] for step in AutoregressiveDecoder(model).generate(ids, max_new_tokens=20)]
    assert [token for step in decoder.generate(ids, max_new_tokens=20) for token in step.tokens] == expected


def test_every_number_of_rows_has_a_way_and_without_room_none_is_packed() -> None:
    weights = [((96, 48), torch.randn(96, 48)), ((10**6, 48), torch.randn(200, 48))]
    for packable in (True, False):
        ways = measure(weights, packable=packable, seconds=0.05)
        assert ways.keys() == {(96, 48), (10**6, 48)}
        for of_shape in ways.values():
            assert list(of_shape) == list(range(2, MOST_ROWS + 1))
            assert packable or Way.PACKED not in of_shape.values()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_models_ways_are_measured_once_and_anew_with_other_threads(dtype: torch.dtype) -> None:
    model, threads = random_model("llama").to(dtype), torch.get_num_threads()
    products = products_of(model)
    assert products_of(model) is products
    assert bool(products.ways) == (dtype != torch.float64)
    try:
        torch.set_num_threads(threads + 1)
        assert products_of(model) is not products
    finally:
        torch.set_num_threads(threads)
