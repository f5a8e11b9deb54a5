"""Products: the faster way to multiply a few rows by a model's matrices, on CPUs in float32.

A step over several tokens multiplies a few rows x by every weight W. BLAS libraries are made for many rows or for one:
`F.linear`, which asks for x Wᵀ, can take three times as long for two rows as the same product asked for as (W xᵀ)ᵀ, and
for twelve it may be the other way round. So both are timed, by the number of rows, when a model is first met. One row,
plain decoding's own product, is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import TypeGuard
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

ROWS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32)
"""Numbers of rows that are timed; those between go by the one below."""
SAMPLE_BYTES = 12_000_000
"""Weights multiplied for a timing: few, but more than lie in the nearest caches, as in a real step."""
PROBE_SECONDS = 0.3
REPEATS = 5
GAIN = 0.95
"""What the other way must take of the usual one's time to be taken."""

_known: WeakKeyDictionary[PreTrainedModel, Products] = WeakKeyDictionary()


class Products:
    """Which way each number of rows is multiplied.

    Attributes:
        turned: the numbers of rows for which W xᵀ is the faster way.
    """

    def __init__(self, model: nn.Module, turned: frozenset[int]) -> None:
        self.turned = turned
        layers = [layer for layer in model.modules() if _is_plain(layer)]
        # Straight into the instances: a module's own way of setting an attribute takes longer than the product.
        self._instances = [(vars(layer), self._forward(layer)) for layer in layers]

    @contextmanager
    def faster(self) -> Iterator[None]:
        """While this lasts, the model multiplies any number of rows the faster way."""
        if not self.turned:
            yield
            return
        try:
            for attributes, forward in self._instances:
                attributes["forward"] = forward
            yield
        finally:
            for attributes, _ in self._instances:
                attributes.pop("forward", None)

    def _forward(self, layer: nn.Linear) -> Callable[[torch.Tensor], torch.Tensor]:
        def forward(rows: torch.Tensor) -> torch.Tensor:
            weight, bias = layer.weight, layer.bias
            if rows.dim() != 3 or len(rows) != 1 or rows.shape[1] not in self.turned or not _is_plain_weight(weight):
                return functional.linear(rows, weight, bias)
            columns = rows[0].t()
            product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
            return product.t()[None]

        return forward


def products_of(model: PreTrainedModel) -> Products:
    """The faster ways with this model here; timed the first time, and kept for the model's lifetime."""
    known = _known.get(model)
    if known is None:
        weights = _sample(model)
        known = _known[model] = Products(model, measure(weights) if weights else frozenset())
    return known


@torch.inference_mode()
def measure(weights: Sequence[torch.Tensor]) -> frozenset[int]:
    """The numbers of rows, from 2 to 32, for which W xᵀ is the faster way to multiply by these weights."""
    begun, turned = perf_counter(), set[int]()
    for rows, following in zip(ROWS, (*ROWS[1:], ROWS[-1] + 1), strict=True):
        inputs = {weight.shape[1]: weight.new_ones(rows, weight.shape[1]) for weight in weights}
        usual, other = [], []
        for _ in range(REPEATS):
            usual.append(_seconds(functional.linear, inputs, weights))
            other.append(_seconds(_turned, inputs, weights))
        if median(other) < GAIN * median(usual):
            turned.update(range(rows, following))
        if perf_counter() - begun > PROBE_SECONDS:
            break
    return frozenset(turned)


def _seconds(
    product: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    inputs: dict[int, torch.Tensor],
    weights: Sequence[torch.Tensor],
) -> float:
    begun = perf_counter()
    for weight in weights:
        product(inputs[weight.shape[1]], weight)
    return perf_counter() - begun


def _sample(model: PreTrainedModel) -> list[torch.Tensor]:
    """Some of the model's weights, if this is about them at all."""
    found: list[torch.Tensor] = []
    for layer in model.modules():
        if _is_plain(layer):
            weight = layer.weight
            if weight.device.type != "cpu" or weight.dtype != torch.float32 or not weight.is_contiguous():
                return []
            if sum(one.nbytes for one in found) < SAMPLE_BYTES:
                found.append(weight)
    return found


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether a layer multiplies by a plain matrix; what is quantised, offloaded or hooked is another's business."""
    return type(layer) is nn.Linear and "forward" not in vars(layer) and _is_plain_weight(layer.weight)


def _is_plain_weight(weight: torch.Tensor) -> bool:
    return type(weight) in (nn.Parameter, torch.Tensor)


def _turned(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return torch.mm(weight, rows.t()).t()
