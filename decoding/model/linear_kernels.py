"""LinearKernels: a model's linear layers computed by the fastest kernel that there is for a few rows on the CPU.

A step over several tokens multiplies a few rows by every weight, and PyTorch's default is slow at that (see
:mod:`decoding.model.kernel_timing`). One row, plain decoding's own product, is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeGuard

import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules import module as torch_modules
from transformers import PreTrainedModel

from decoding.model.fingerprint import version_of
from decoding.model.kernel_timing import (
    KernelChoice,
    LinearKernel,
    fastest_kernels,
    prepacked,
    prepacked_product,
    transposed_product,
)
from decoding.model.module_view import ModuleView
from decoding.model.state import ModelState, last_state_of
from decoding.model.unwrapping import unwrapped

_NAME = "linear kernels"
_linear_forward = nn.Linear.forward


class LinearKernels:
    """The kernels that a model's weights are multiplied by.

    Attributes:
        choice: by shape and number of rows.
        threads: of torch's, with which they were timed.
        revision: of the model's state that the copies were last brought up to; None for none.
    """

    def __init__(self, weights: Iterable[torch.Tensor], choice: KernelChoice, threads: int) -> None:
        """
        Args:
            weights: those of the layers that may be computed so, each of shape (out, in).
        """
        self.choice, self.threads = choice, threads
        self.revision: int | None = None
        self._weights: dict[int, _Weight] = {}
        self.follow(weights)

    @property
    def packed_bytes(self) -> int:
        """The memory that prepacked copies take."""
        return sum(weight.packed_bytes for weight in self._weights.values())

    def follow(self, weights: Iterable[torch.Tensor], state: ModelState | None = None) -> None:
        """Make the copies of weights that are new, and of those whose contents have changed.

        Args:
            weights: as they are now.
            state: the model's, by which contents are known to be unchanged; None to copy all anew.
        """
        known, self._weights = self._weights, {}
        for tensor in weights:
            kernels = self.choice.get(tuple(tensor.shape))
            if kernels and id(tensor) not in self._weights:
                edition = None if state is None else state.edition_of(tensor)
                self._weights[id(tensor)] = _Weight(tensor, kernels, edition, known.get(id(tensor)))
        self.revision = None if state is None else state.revision

    def multiply(self, rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Compute rows Wᵀ + b by the fastest kernel.

        Args:
            rows: shape (1, T, in); any other takes the default kernel.
            weight: shape (out, in).
            bias: shape (out,).

        Returns:
            Shape (1, T, out), contiguous.
        """
        known, shape = self._weights.get(id(weight)), rows.shape
        if known is not None and len(shape) == 3 and shape[0] == 1:
            kernel = known.kernels.get(shape[1])
            if kernel is LinearKernel.PREPACKED and known.is_packed_from(weight):
                assert known.packed is not None
                return prepacked_product(rows, known.packed, bias)
            if kernel is LinearKernel.TRANSPOSED:
                return transposed_product(rows, weight, bias)
        return functional.linear(rows, weight, bias)


class ModelWithKernels:
    """A model, and the same model with its linear layers computed by the fastest kernels."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self._kernels: LinearKernels | None = None
        self._view = ModuleView(functional.linear)
        self._revision: int | None = None

    def module(self) -> nn.Module:
        """Return what to call for a step over several tokens; the model itself where it would compute the same."""
        state = last_state_of(self._model)
        kernels = linear_kernels_of(self._model)
        if not kernels.choice or _is_changed_globally():
            return self._model
        if kernels is not self._kernels or state.revision != self._revision:
            self._view.clear()
            self._view.multiply, self._kernels, self._revision = kernels.multiply, kernels, state.revision
        return self._view.of(self._model)


def linear_kernels_of(model: PreTrainedModel) -> LinearKernels:
    """The fastest kernels with this model here; timed the first time, and kept while torch has as many threads."""
    state, threads = last_state_of(model), torch.get_num_threads()
    known: LinearKernels | None = state.derived.get(_NAME)
    if known is None or known.threads != threads:
        known = LinearKernels((), fastest_kernels(_plain_layers(model)), threads)
        state.derived[_NAME] = known
    if known.revision != state.revision:
        known.follow((layer.weight for layer in _plain_layers(model)), state)
    return known


def packed_weight_bytes(model: PreTrainedModel) -> int:
    """The memory that copies of a model's weights take, laid out for steps over several tokens; 0 without any."""
    known: LinearKernels | None = last_state_of(unwrapped(model)).derived.get(_NAME)
    return 0 if known is None else known.packed_bytes


class _Weight:
    """A weight, its kernels by number of rows, and its prepacked copy where one of them takes one."""

    __slots__ = ("_address", "_version", "edition", "kernels", "packed", "tensor")

    def __init__(
        self, tensor: torch.Tensor, kernels: Mapping[int, LinearKernel], edition: int | None, before: _Weight | None
    ) -> None:
        # Held, so that its id is not another's.
        self.tensor, self.kernels, self.edition = tensor, kernels, edition
        self._address, self._version = tensor.data_ptr(), version_of(tensor)
        self.packed: torch.Tensor | None = None
        if LinearKernel.PREPACKED in kernels.values():
            unchanged = before is not None and edition is not None and before.edition == edition
            self.packed = before.packed if unchanged and before is not None else prepacked(tensor)

    @property
    def packed_bytes(self) -> int:
        return 0 if self.packed is None else self.tensor.nbytes

    def is_packed_from(self, weight: torch.Tensor) -> bool:
        """Return whether the copy is of the weight as it is, as far as can be told without reading it."""
        return weight.data_ptr() == self._address and version_of(weight) == self._version


def _plain_layers(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if _is_plain(layer)]


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Return whether a layer multiplies by a plain matrix: one that is neither quantised nor split nor offloaded."""
    return type(layer) is nn.Linear and type(layer._parameters.get("weight")) in (nn.Parameter, torch.Tensor)


def _is_changed_globally() -> bool:
    """Return whether something holds for all layers that a kernel of another kind would not honour."""
    return (
        nn.Linear.forward is not _linear_forward
        or torch.is_autocast_enabled("cpu")
        or bool(torch_modules._global_forward_hooks or torch_modules._global_forward_pre_hooks)
    )
