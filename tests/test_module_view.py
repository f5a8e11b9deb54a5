"""A view computes what its model computes, passes for it everywhere, and leaves no trace on it."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder
from decoding.model import linear_kernels
from decoding.model.linear_kernels import ModuleView
from tests.models import CONFIGS, hf_greedy, random_model, random_prompt, tokens_of

IDS = torch.tensor([random_prompt(9)])
CONFIG = LookaheadConfig(3, 3, 3)


@pytest.fixture
def transposed_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps over several tokens never take the default kernel, in float64 too."""

    monkeypatch.setitem(linear_kernels.FEW_ROWS, torch.float64, range(2, 129))


def said(decoder: Any, ids: list[int], count: int = 20) -> list[int]:
    return tokens_of(decoder.generate(ids, max_new_tokens=count))


def state_of(model: nn.Module) -> list[dict[str, Any]]:
    """All attributes of all modules, as they are."""
    return [
        {name: dict(value) if isinstance(value, dict) else value for name, value in vars(module).items()}
        for module in model.modules()
    ]


class Counting:
    """A product that counts how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        self.calls += 1
        return functional.linear(rows, weight, bias)


@pytest.mark.parametrize("family", CONFIGS)
@torch.no_grad()
def test_every_linear_layer_of_a_family_is_seen_and_nothing_is_changed(family: str) -> None:
    model, multiply = random_model(family), Counting()
    linear = sum(type(module) is nn.Linear for module in model.modules())
    before = state_of(model)
    output = ModuleView(multiply).of(model)(IDS, output_hidden_states=True)
    assert multiply.calls >= linear > 0 or "llama4" in family
    expected = model(IDS, output_hidden_states=True)
    assert torch.equal(output.logits, expected.logits)
    assert len(output.hidden_states) == len(expected.hidden_states)
    for was, now in zip(before, state_of(model), strict=True):
        # transformers puts its own hooks there as it is first asked for hidden states.
        changed = {name for name in now if name not in was or (now[name] is not was[name] and now[name] != was[name])}
        assert all("hook" in name for name in changed)


class Parts(nn.Module):
    """Children in every kind of container."""

    def __init__(self) -> None:
        super().__init__()
        self.few = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
        self.named = nn.ModuleDict({"one": nn.Linear(4, 4), "two": nn.Linear(4, 4)})
        self.row = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        for layer in (*self.few[1:], self.few[0], *self.named.values(), self.named["one"]):
            rows = layer(rows)
        for name, layer in self.named.items():
            rows = layer(rows) + len(name)
        self.last = self.few[0]
        return self.row[:2](self.row(rows))


@torch.no_grad()
def test_children_are_seen_in_every_container_and_none_is_left_behind() -> None:
    parts, multiply, rows = Parts(), Counting(), torch.randn(1, 2, 4)
    expected = parts(rows)
    del parts.last
    assert torch.equal(ModuleView(multiply).of(parts)(rows), expected)
    assert multiply.calls == 4 + 3 + 2 + 2 + 1
    assert vars(parts)["_modules"]["last"] is parts.few[0]


def test_a_view_passes_for_its_module() -> None:
    model = random_model("llama")
    view = ModuleView(functional.linear).of(model)
    assert type(view) is not type(model)
    assert view.__class__ is type(model)
    assert isinstance(view, type(model))
    assert view == model
    assert {model: 1}[view] == {view: 1}[model] == 1
    assert isinstance(view.lm_head, nn.Linear)
    assert isinstance(view.model.layers[:2], nn.ModuleList)
    assert view.model.layers[0].self_attn == model.model.layers[0].self_attn
    assert view.lm_head.weight is model.lm_head.weight


@pytest.mark.parametrize("name", ["", "lm_head", "model.layers.1", "model.layers.1.mlp.up_proj"])
@torch.no_grad()
def test_hooks_are_given_the_module_itself(name: str) -> None:
    model, seen = random_model("llama"), []
    module = model.get_submodule(name)
    handles = [
        module.register_forward_pre_hook(lambda module, args: seen.append(module)),
        module.register_forward_hook(lambda module, args, output: seen.append(module)),
        module.register_forward_hook(lambda module, args, kwargs, output: seen.append(module), with_kwargs=True),
    ]
    view = ModuleView(functional.linear).of(model)
    view(IDS)
    assert len(seen) == 3
    assert all(each is module for each in seen)
    for handle in handles:
        handle.remove()
    view(IDS)
    assert len(seen) == 3


def double(layer: nn.Linear) -> Callable[[torch.Tensor], torch.Tensor]:
    plain = layer.forward
    return lambda rows: 2 * plain(rows)


def patch_forward(model: Any) -> None:
    model.model.layers[1].mlp.up_proj.forward = double(model.model.layers[1].mlp.up_proj)


def patch_parent(model: Any) -> None:
    mlp = model.model.layers[0].mlp
    mlp.forward = types.MethodType(lambda self, rows: self.down_proj(self.up_proj(rows)), mlp)


def add_accelerate_hook(model: Any) -> None:
    hooks = pytest.importorskip("accelerate.hooks")

    class Doubling(hooks.ModelHook):  # type: ignore[misc, name-defined]
        def post_forward(self, module: nn.Module, output: torch.Tensor) -> torch.Tensor:
            return 2 * output

    hooks.add_hook_to_module(model.model.layers[1].mlp.up_proj, Doubling())


def add_torch_hook(model: Any) -> None:
    model.model.layers[0].register_forward_hook(lambda module, args, output: 2 * output)


def replace_layer(model: Any) -> None:
    model.model.layers[1].mlp.up_proj = copy.deepcopy(model.model.layers[0].mlp.up_proj)


def parametrise(model: Any) -> None:
    nn.utils.parametrizations.weight_norm(model.model.layers[1].mlp.up_proj)
    model.model.layers[1].mlp.up_proj.parametrizations.weight.original0.data.mul_(3)


PATCHES = [patch_forward, patch_parent, add_accelerate_hook, add_torch_hook, replace_layer, parametrise]


@pytest.mark.parametrize("patch", PATCHES)
@pytest.mark.usefixtures("transposed_everywhere")
def test_a_patch_between_two_texts_holds_and_stays(patch: Callable[[Any], None]) -> None:
    model, ids = random_model("llama"), random_prompt(12)
    decoder = LookaheadDecoder(model, CONFIG)
    before = said(decoder, ids)
    patch(model)
    expected = hf_greedy(model, ids, 20)
    assert expected != before
    assert said(decoder, ids) == expected
    assert hf_greedy(model, ids, 20) == expected
    assert said(AutoregressiveDecoder(model), ids) == expected


@pytest.mark.usefixtures("transposed_everywhere")
def test_a_patch_in_the_middle_of_a_forward_pass_holds_and_stays() -> None:
    """What a hook does to a layer behind it is the caller's; the decoder neither loses nor undoes it."""
    model, ids = random_model("llama"), random_prompt(12)
    layer, expected = model.model.layers[1].mlp.up_proj, []

    def patch(module: nn.Module, args: Any, output: Any) -> None:
        if output.shape[1] > 1 and "forward" not in vars(layer):
            layer.forward = double(layer)
            expected.append(layer.forward)

    decoder = LookaheadDecoder(model, CONFIG)
    model.model.layers[0].register_forward_hook(patch)
    for _ in decoder.generate(ids, max_new_tokens=10):
        pass
    assert vars(layer)["forward"] is expected[0]


@pytest.mark.usefixtures("transposed_everywhere")
def test_an_exception_and_a_nested_text_leave_no_trace() -> None:
    model, ids = random_model("llama"), random_prompt(12)
    decoder, nested = LookaheadDecoder(model, CONFIG), []
    expected = said(decoder, ids)
    before = state_of(model)

    def decode(module: nn.Module, args: Any, output: torch.Tensor) -> None:
        handle.remove()
        nested.append(said(decoder, ids))
        raise KeyError("stop")

    steps = decoder.generate(ids, max_new_tokens=20)
    next(steps), next(steps)
    handle = model.model.layers[1].register_forward_hook(decode)
    with pytest.raises(KeyError, match="stop"):
        list(steps)
    assert nested == [expected]
    assert state_of(model) == before
    assert said(decoder, ids) == expected


@torch.no_grad()
def test_classes_that_keep_attributes_in_their_own_way_are_left_alone() -> None:
    class Forwarding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def __getattr__(self, name: str) -> Any:
            return super().__getattr__(name.removeprefix("my_"))

        def forward(self, rows: torch.Tensor) -> Any:
            return self.my_inner(rows)

    module, multiply = Forwarding(), Counting()
    assert ModuleView(multiply).of(module) is module


def test_a_model_is_let_go_of() -> None:
    import gc
    from weakref import ref

    model = random_model("llama").float()
    said(LookaheadDecoder(model, CONFIG), random_prompt(9), 6)
    gone = ref(model)
    del model
    gc.collect()
    assert gone() is None
