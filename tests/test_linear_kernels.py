"""Linear layers of few rows give what PyTorch gives, up to rounding, and follow their weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import prune

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, Origin
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.model import linear_kernels
from decoding.model.capabilities import capabilities_of
from decoding.model.linear_kernels import ModuleView, linear
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from tests.models import random_model, random_prompt, tokens_of


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


@pytest.fixture(params=["kernels", "without a compiler"])
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "kernels":
        monkeypatch.setattr(linear_kernels, "native_kernels", lambda: None)


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("count", [1, 2, 3, 8, 32, 33])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_few_rows_give_pytorchs_product(count: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layers = Layers().to(dtype)
    rows = torch.randn(1, count, 48, dtype=dtype)
    expected = layers(rows)
    found = ModuleView(linear).of(layers)(rows)
    tolerance = 2e-2 if dtype is torch.bfloat16 else 1e-5
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    assert found.is_contiguous()
    assert torch.equal(layers(rows), expected)


@torch.no_grad()
def test_one_row_and_rows_of_other_shapes_are_left_to_pytorch() -> None:
    weight = torch.randn(96, 48)
    for rows in (torch.randn(1, 1, 48), torch.randn(2, 3, 48), torch.randn(5, 48)):
        assert torch.equal(linear(rows, weight), functional.linear(rows, weight))


def test_what_holds_for_all_layers_holds_in_wide_steps_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = random_model("gpt_neox").float(), []
    monkeypatch.setattr(linear_kernels, "_transposed", lambda *given: calls.append(1) or functional.linear(*given))
    monkeypatch.setattr(linear_kernels, "native_kernels", lambda: None)
    prefix = KVPrefix(model, capabilities_of(model))
    prefix.next_logits([3, 4])
    tree = CandidateTree()
    tree.add([6, 7], Origin.CONTEXT)

    def is_served() -> bool:
        calls.clear()
        prefix.branch_logits(StepInputs.from_branches(5, tree, JacobiWindow(0, 2, ())))
        prefix.rewind(2)
        return bool(calls)

    assert is_served()
    with torch.autocast("cpu"):
        assert not is_served()
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: None)
    assert not is_served()
    handle.remove()
    monkeypatch.setattr(nn.Linear, "forward", lambda self, rows: functional.linear(rows, self.weight, self.bias))
    assert not is_served()


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
