"""Linear layers computed by any kernel give what they give by default, up to rounding, and follow their weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder
from decoding.model.linear_kernels import (
    MAX_ROWS,
    KernelChoice,
    LinearKernel,
    LinearKernels,
    ModelWithKernels,
    measure,
)
from decoding.model.module_view import ModuleView
from decoding.runner import runner_of
from tests.models import random_model, random_prompt, tokens_of

SHAPES = ((96, 48), (48, 96), (48, 48))
IDS = torch.tensor([random_prompt(4)])


class Layers(nn.Module):
    """Two layers that share a weight, one of another shape with a bias, and two that are no plain matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(48, 96, bias=False), nn.Linear(48, 96, bias=False)
        self.other.weight = self.one.weight
        self.biased = nn.Linear(96, 48)
        self.normed = nn.utils.parametrizations.weight_norm(nn.Linear(48, 48))
        self.pruned = prune.random_unstructured(nn.Linear(48, 48), "weight", amount=0.5)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.pruned(self.normed(self.biased(self.one(rows) + self.other(rows))))
        return found


def everywhere(kernel: LinearKernel) -> KernelChoice:
    return {shape: dict.fromkeys(range(2, MAX_ROWS + 1), kernel) for shape in SHAPES}


def computed_by(layers: Layers, kernel: LinearKernel) -> nn.Module:
    return ModuleView(LinearKernels(everywhere(kernel), 1).multiply).of(layers)


@pytest.fixture
def transposed_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps over four tokens never take the default kernel."""

    def choice(layers: list[nn.Linear]) -> KernelChoice:
        return {tuple(layer.weight.shape): {4: LinearKernel.TRANSPOSED} for layer in layers}

    monkeypatch.setattr("decoding.model.linear_kernels.fastest_kernels", choice)


@pytest.mark.parametrize("kernel", LinearKernel)
@pytest.mark.parametrize("count", [1, 2, 3, 8, 17, MAX_ROWS, MAX_ROWS + 1])
@torch.no_grad()
def test_every_kernel_gives_the_product(kernel: LinearKernel, count: int) -> None:
    torch.manual_seed(0)
    layers = Layers()
    rows = torch.randn(1, count, 48)
    expected = layers(rows)
    found = computed_by(layers, kernel)(rows)
    torch.testing.assert_close(found, expected)
    assert found.is_contiguous()
    assert torch.equal(layers(rows), expected)


@torch.no_grad()
def test_one_row_and_rows_of_other_shapes_take_the_default() -> None:
    layers = Layers()
    fast = computed_by(layers, LinearKernel.TRANSPOSED)
    for rows in (torch.randn(1, 1, 48), torch.randn(2, 3, 48), torch.randn(5, 48)):
        assert torch.equal(fast(rows), layers(rows))


@pytest.mark.usefixtures("transposed_everywhere")
def test_what_holds_for_all_layers_holds_in_wide_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model("llama").float()
    fast = ModelWithKernels(model, runner_of(model).linear_kernels)
    assert fast.module() is not model
    with torch.autocast("cpu"):
        assert fast.module() is model
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: None)
    assert fast.module() is model
    handle.remove()
    monkeypatch.setattr(nn.Linear, "forward", lambda self, rows: rows @ self.weight.t())
    assert fast.module() is model


REPLACEMENTS: dict[str, Callable[[Any], object]] = {
    "another dtype": lambda model: model.to(torch.bfloat16),
    "a dtype that is not timed": lambda model: model.double(),
    "another layer": lambda model: setattr(model, "lm_head", nn.Linear(model.lm_head.in_features, 300)),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS.keys())
def test_a_model_of_other_matrices_is_timed_anew(replace: Callable[[Any], object]) -> None:
    model = random_model("llama").float()
    kernels = runner_of(model).linear_kernels()
    runner_of(model).refresh()
    assert runner_of(model).linear_kernels() is kernels
    replace(model)
    runner_of(model).refresh()
    assert runner_of(model).linear_kernels() is not kernels


def test_a_weight_changed_between_two_texts_changes_the_answer() -> None:
    model = random_model("llama").float()
    decoder = LookaheadDecoder(model, LookaheadConfig(3, 3, 3))
    ids = random_prompt(20)
    list(decoder.generate(ids, max_new_tokens=20))
    for parameter in model.parameters():
        parameter.data.mul_(1.7)
        parameter.data.add_(0.05 * torch.randn_like(parameter))
    expected = [step.tokens[0] for step in AutoregressiveDecoder(model).generate(ids, max_new_tokens=20)]
    assert tokens_of(decoder.generate(ids, max_new_tokens=20)) == expected


def test_every_number_of_rows_has_a_kernel() -> None:
    weights = [((96, 48), torch.randn(96, 48)), ((10**6, 48), torch.randn(200, 48))]
    choice = measure(weights, seconds=0.05)
    assert choice.keys() == {(96, 48), (10**6, 48)}
    assert all(list(of_shape) == list(range(2, MAX_ROWS + 1)) for of_shape in choice.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_a_models_kernels_are_timed_once_and_anew_with_other_threads(dtype: torch.dtype) -> None:
    model, threads = random_model("llama").to(dtype), torch.get_num_threads()
    kernels = runner_of(model).linear_kernels()
    assert runner_of(model).linear_kernels() is kernels
    assert bool(kernels.choice) == (dtype != torch.float64)
    try:
        torch.set_num_threads(threads + 1)
        assert runner_of(model).linear_kernels() is not kernels
    finally:
        torch.set_num_threads(threads)
