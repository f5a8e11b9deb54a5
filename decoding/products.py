"""Products: a model's matrices multiplied by a few rows the fastest way there is on the CPU.

A step over several tokens multiplies a few rows by every weight, and usual ways are slow at that (see
:mod:`decoding.ways`). One row, plain decoding's own product, is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import gcd
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from decoding.ways import Way, Ways, fastest_ways, packed, packed_product, turned_product

WITNESSES = 64
"""Elements of a weight that are remembered beside sums, to notice changes by."""

_known: WeakKeyDictionary[PreTrainedModel, Products] = WeakKeyDictionary()


class Products:
    """How a model's matrices are multiplied.

    Attributes:
        ways: by shape and number of rows.
        threads: of torch's, with which they were timed.
    """

    def __init__(self, model: nn.Module, ways: Ways, threads: int) -> None:
        self.ways, self.threads = ways, threads
        self._seen = _plain_layers(model)
        layers = [layer for layer in self._seen if ways.get(tuple(layer.weight.shape))]
        # By the weight: layers may share one.
        self._packed = {id(layer.weight): _Packed(layer.weight) for layer in layers}
        self._matrices = [
            _Matrix(layer, self._packed[id(layer.weight)], ways[tuple(layer.weight.shape)]) for layer in layers
        ]
        # Straight into the instances: a module's own way of setting an attribute takes longer than the product.
        self._instances = [(vars(matrix.layer), matrix.product) for matrix in self._matrices]

    @property
    def packed_bytes(self) -> int:
        """What the packed copies take, those that there are so far."""
        return sum(each.bytes for each in self._packed.values())

    @contextmanager
    def faster(self) -> Iterator[None]:
        """While this lasts, the model multiplies any number of rows the fastest way."""
        try:
            for attributes, product in self._instances:
                attributes["forward"] = product
            yield
        finally:
            for attributes, _ in self._instances:
                attributes.pop("forward", None)

    def pack(self) -> None:
        """Make the packed copies now, so that no step has to wait for them."""
        for matrix in self._matrices:
            matrix.pack()

    def concerns(self, model: nn.Module) -> bool:
        """Whether the model's layers are still those that it had."""
        return self._seen == _plain_layers(model)

    def look_again(self) -> bool:
        """Notice weights that were changed: their packed copies are made anew when they are needed.

        Returns:
            False if some are not where and what they were, so that all this says nothing of them any more.
        """
        return all(matrix.is_as_it_was for matrix in self._matrices) and all(
            each.look_again() for each in self._packed.values()
        )


def products_of(model: PreTrainedModel) -> Products:
    """The fastest ways with this model here; timed the first time, and kept while torch has as many threads."""
    known, threads = _known.get(model), torch.get_num_threads()
    if known is None or known.threads != threads:
        known = _known[model] = Products(model, fastest_ways(_plain_layers(model)), threads)
        known.pack()
    return known


def look_again(model: PreTrainedModel, *, closely: bool = False) -> None:
    """Notice what was done to the model's weights since the last text: a training step, an adapter merged.

    Args:
        closely: whether layers may have been added or taken away.
    """
    known = _known.get(model)
    if known is not None and not (known.look_again() and (not closely or known.concerns(model))):
        del _known[model]


def packed_weight_bytes(model: PreTrainedModel) -> int:
    """The memory that copies of a model's weights take, laid out for steps over several tokens; 0 without any."""
    known = _known.get(model)
    return 0 if known is None else known.packed_bytes


class _Matrix:
    """One layer's product. A step calls dozens, so whatever can be looked at between texts is."""

    __slots__ = ("_packed", "_parameters", "_ways", "layer")

    def __init__(self, layer: nn.Linear, packed: _Packed, ways: Mapping[int, Way]) -> None:
        self.layer, self._packed, self._ways = layer, packed, ways
        self._parameters: Mapping[str, Any] = layer._parameters

    @property
    def is_as_it_was(self) -> bool:
        """Whether the layer has the weight that it had."""
        return self._parameters.get("weight") is self._packed.weight

    def pack(self) -> None:
        if self._packed.copy is None and Way.PACKED in self._ways.values():
            self._packed.pack()

    def product(self, rows: torch.Tensor) -> torch.Tensor:
        """As ``layer.forward``."""
        shape, parameters = rows.shape, self._parameters
        way = self._ways.get(shape[1]) if len(shape) == 3 and shape[0] == 1 else None
        if way is Way.PACKED:
            copy = self._packed.copy
            return packed_product(rows, self._packed.pack() if copy is None else copy, parameters["bias"])
        product = turned_product if way is Way.TURNED else functional.linear
        return product(rows, parameters["weight"], parameters["bias"])


class _Packed:
    """A weight's packed copy, made when it is first needed.

    Attributes:
        weight: the weight.
        copy: None before it is made, and after the weight has changed.
    """

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight
        self.copy: torch.Tensor | None = None
        self._place, self._version = weight.data_ptr(), _version(weight)
        # A view, so that its memory is not another's as long as this is about it.
        self._matrix = weight.detach()
        self._testimony: tuple[torch.Tensor, ...] = ()

    @property
    def bytes(self) -> int:
        return 0 if self.copy is None else self.weight.nbytes

    def pack(self) -> torch.Tensor:
        self.copy, self._testimony = packed(self.weight), _testimony(self._matrix)
        return self.copy

    def look_again(self) -> bool:
        """Forget the copy if the weight has changed; False if it now lies elsewhere."""
        if self.weight.data_ptr() != self._place:
            return False
        version = _version(self.weight)
        if version == self._version and self.copy is None:
            return True
        testimony = _testimony(self._matrix)
        if version != self._version or not all(map(torch.equal, testimony, self._testimony)):
            self.copy, self._version, self._testimony = None, version, testimony
        return True


def _plain_layers(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if _is_plain(layer)]


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether a layer multiplies by a plain matrix; what is quantised, offloaded or hooked is another's business."""
    return type(layer) is nn.Linear and "forward" not in vars(layer) and _is_plain_weight(layer.weight)


def _is_plain_weight(weight: torch.Tensor) -> bool:
    return type(weight) in (nn.Parameter, torch.Tensor)


@torch.inference_mode()
def _testimony(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """By what a change is noticed that PyTorch does not count, as one through ``weight.data``.

    Returns:
        The sum of each row's bits, so that no change of some elements goes by, and a few elements, so that none of all
        columns does. Taken in a fraction of a plain step.
    """
    size = matrix.element_size()
    # As wide as rows and their place in memory allow.
    width = gcd(8, matrix.shape[1] * size, matrix.storage_offset() * size)
    bits = matrix.view({8: torch.int64, 4: torch.int32, 2: torch.int16}[width])
    elements = bits.view(-1)
    return bits.sum(dim=1), elements[:: max(1, len(elements) // WITNESSES)].clone()


def _version(weight: torch.Tensor) -> int:
    """PyTorch's count of the changes to a tensor, which it does not keep for those made in inference mode."""
    return 0 if weight.is_inference() else weight._version
