"""What users do to a model between two texts: edits, patches, hooks, adapters, training, moves."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

import torch
from accelerate.hooks import ModelHook, add_hook_to_module, remove_hook_from_module
from torch import nn
from transformers.pytorch_utils import Conv1D

Undo: TypeAlias = Callable[[], None]
Mutation: TypeAlias = Callable[[Any, Random], Undo | None]
"""Changes a model; returns what takes the change back, where that can be."""


class Adapter(nn.Module):
    """A low-rank adapter around a layer, as PEFT's, which can be switched off."""

    def __init__(self, base: nn.Module, generator: torch.Generator) -> None:
        super().__init__()
        self.base, self.enabled = base, True
        rows, columns = base.weight.shape if isinstance(base, nn.Linear) else reversed(base.weight.shape)
        kept = {"dtype": base.weight.dtype}
        self.down = nn.Parameter(torch.randn(2, columns, generator=generator).to(**kept))
        self.up = nn.Parameter(torch.randn(rows, 2, generator=generator).to(**kept))

    @property
    def weight(self) -> torch.Tensor:
        """Some models look at it themselves."""
        found: torch.Tensor = self.base.weight
        return found

    @property
    def bias(self) -> torch.Tensor | None:
        """As ``weight``."""
        found: torch.Tensor | None = self.base.bias
        return found

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.base(rows)
        return found + rows @ self.down.T @ self.up.T if self.enabled else found


class Scaling(ModelHook):  # type: ignore[misc]
    """An accelerate hook that multiplies a layer's output."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def post_forward(self, module: nn.Module, output: Any) -> Any:
        # Where a model reads a layer's weight itself, transformers tells the hook of no output.
        return output * self.factor if isinstance(output, torch.Tensor) else output


def patch_forward(model: Any, draw: Random) -> Undo | None:
    """Put a function of its own into a layer, as libraries do that patch models."""
    layer = _layer(model, draw)
    if "forward" in vars(layer):
        return None
    before, factor = layer.forward, draw.choice([-1.0, 2.0])
    layer.forward = lambda rows: factor * before(rows)
    return lambda: vars(layer).pop("forward")


def watch_forward(model: Any, draw: Random) -> Undo | None:
    """Put a function into a layer that changes nothing."""
    layer = _layer(model, draw)
    if "forward" in vars(layer):
        return None
    before = layer.forward
    layer.forward = lambda rows: before(rows)
    return lambda: vars(layer).pop("forward")


def hook_with_accelerate(model: Any, draw: Random) -> Undo | None:
    """Hook a layer as accelerate does, by a ``forward`` of the instance."""
    layer = _layer(model, draw)
    if "forward" in vars(layer):
        return None
    add_hook_to_module(layer, Scaling(draw.choice([-1.0, 2.0])))
    return lambda: remove_hook_from_module(layer)


def hook_with_torch(model: Any, draw: Random) -> Undo:
    """Hook a layer as PyTorch does."""
    factor = draw.choice([-1.0, 2.0])
    return _layer(model, draw).register_forward_hook(lambda module, rows, output: factor * output).remove


def attach_adapter(model: Any, draw: Random) -> Undo:
    """Put an adapter around a layer."""
    layer = _layer(model, draw)
    parent, name = next(
        (module, name) for module in model.modules() for name, child in module.named_children() if child is layer
    )
    setattr(parent, name, Adapter(layer, torch.Generator().manual_seed(draw.randrange(2**31))))
    return lambda: setattr(parent, name, layer)


def switch_adapters(model: Any, draw: Random) -> None:
    """Switch all adapters on or off; attach one if there is none."""
    adapters = [module for module in model.modules() if isinstance(module, Adapter)]
    for adapter in adapters:
        adapter.enabled = not adapter.enabled
    if not adapters:
        attach_adapter(model, draw)


def edit_through_data(model: Any, draw: Random) -> None:
    """Change one element, or a row, of some parameter in a way that PyTorch does not count."""
    parameter = draw.choice([each for each in model.parameters() if each.dim() > 1])
    row = parameter.data.view(-1, parameter.shape[-1])[draw.randrange(parameter.numel() // parameter.shape[-1])]
    if draw.random() < 0.5:
        row.mul_(-1)
    else:
        row[draw.randrange(len(row))] += 40


def edit_norm_through_data(model: Any, draw: Random) -> None:
    """Change a norm or a bias so."""
    vectors = [each for each in model.parameters() if each.dim() == 1]
    if vectors:
        draw.choice(vectors).data[::2] *= -1


def swap_columns(model: Any, draw: Random) -> None:
    """Exchange two columns of a weight through ``.data``: the sums of its rows stay as they were."""
    weight = _layer(model, draw).weight.data
    left, right = draw.sample(range(weight.shape[1]), 2)
    weight[:, [left, right]] = weight[:, [right, left]]


def replace_data(model: Any, draw: Random) -> None:
    """Give a parameter other memory."""
    # Turned round, what is alike from end to end would be as it was, and a text would be gone on with.
    parameter = draw.choice([each for each in model.parameters() if not torch.equal(each, each.flip(0))])
    parameter.data = parameter.data.flip(0).clone()


def train(model: Any, draw: Random) -> None:
    """Take one step of gradient descent in place."""
    if model.config.model_type == "rwkv":  # it cannot be trained in this way: its state is written in place
        return
    text = torch.tensor([[draw.randrange(3, model.config.get_text_config().vocab_size) for _ in range(9)]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    model(input_ids=text, labels=text).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def load_state_dict(model: Any, draw: Random) -> None:
    """Load other weights into it."""
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    state = {
        name: value + 0.1 * torch.randn(value.shape, generator=generator).to(value.dtype)
        if value.is_floating_point()
        else value
        for name, value in model.state_dict().items()
    }
    model.load_state_dict(state, assign=draw.random() < 0.3)


def move_dtype(model: Any, draw: Random) -> None:
    """Move it to another dtype and back: the tensors are others, and rounded."""
    dtype = model.dtype
    model.to(torch.bfloat16).to(dtype)


MUTATIONS: tuple[Mutation, ...] = (
    patch_forward,
    watch_forward,
    hook_with_accelerate,
    hook_with_torch,
    attach_adapter,
    switch_adapters,
    edit_through_data,
    edit_norm_through_data,
    swap_columns,
    replace_data,
    train,
    load_state_dict,
    move_dtype,
)


def _layer(model: Any, draw: Random) -> Any:
    return draw.choice([module for module in model.modules() if type(module) in (nn.Linear, Conv1D)])
