"""LinearKernels: a model's linear layers computed by the fastest CPU kernel for a few rows.

A step over several tokens multiplies a few rows by every weight, and PyTorch's default is slow at that (see
:mod:`decoding.model.kernel_timing`). The product of one row, plain decoding's, is left as it is in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeGuard

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from decoding.model.kernel_timing import (
    MAX_ROWS,
    PACKERS,
    PRODUCTS,
    KernelChoice,
    LinearKernel,
    fastest_kernels,
    fits_half,
)
from decoding.model.module_view import ModuleView
from decoding.model.state import ModelState
from decoding.model.torch_private import has_global_hooks, version_of

_linear_forward = nn.Linear.forward


class LinearKernels:
    """The kernels chosen for a model's weights, and the prepacked copies that they need.

    Attributes:
        choice: kernels by shape and number of rows.
        threads: torch's number of threads at the timing.
        revision: the revision of the model's state at the last refresh; None before the first.
    """

    def __init__(self, weights: Iterable[torch.Tensor], choice: KernelChoice, threads: int) -> None:
        """
        Args:
            weights: the weights of plain linear layers, each of shape (out, in).
        """
        self.choice, self.threads = choice, threads
        self.revision: int | None = None
        default = LinearKernel.DEFAULT
        self._for_one = any(kernels.get(1, default) is not default for kernels in choice.values())
        self._weights: dict[int, _Weight] = {}
        self.follow(weights)

    @classmethod
    def timed(cls, model: nn.Module) -> LinearKernels:
        """Time the kernels on a model's layers; no copies are made yet."""
        return cls((), fastest_kernels(_plain_layers(model)), torch.get_num_threads())

    @property
    def packed_bytes(self) -> int:
        """The memory that prepacked copies take."""
        return sum(weight.packed_bytes for weight in self._weights.values())

    def enabled(self, rows: int = 2) -> bool:
        """Return True if a step over so many tokens may be computed by another kernel than the default."""
        return bool(self.choice) and (rows > 1 or self._for_one) and not is_changed_globally()

    def refresh(self, model: nn.Module, state: ModelState) -> None:
        """Bring the copies up to a model's state."""
        if self.revision != state.revision:
            self.follow((layer.weight for layer in _plain_layers(model)), state)

    def follow(self, weights: Iterable[torch.Tensor], state: ModelState | None = None) -> None:
        """Copy the weights that are new or whose contents have changed.

        Args:
            weights: as they are now.
            state: the model's state, to recognise unchanged weights; None to copy all.
        """
        known, distinct = (
            self._weights,
            {id(tensor): tensor for tensor in weights if tuple(tensor.shape) in self.choice},
        )

        def follow_one(tensor: torch.Tensor) -> _Weight:
            edition = None if state is None else state.edition_of(tensor)
            return _Weight(tensor, self.choice[tuple(tensor.shape)], edition, known.get(id(tensor)))

        # On all cores: FBGEMM packs a weight on one.
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            self._weights = dict(zip(distinct, pool.map(follow_one, distinct.values()), strict=True))
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
            kernel = known.kernels.get(min(shape[1], MAX_ROWS), LinearKernel.DEFAULT)
            if kernel not in PACKERS:
                return PRODUCTS[kernel](rows, weight, bias)
            if kernel in known.packed and known.is_packed_from(weight):
                return PRODUCTS[kernel](rows, known.packed[kernel], bias)
        return functional.linear(rows, weight, bias)


class ModelWithKernels:
    """A model, and the same model with its linear layers computed by the fastest kernels."""

    def __init__(self, model: PreTrainedModel, current_kernels: Callable[[], LinearKernels]) -> None:
        self._model, self._current_kernels = model, current_kernels
        self._kernels: LinearKernels | None = None
        self._view = ModuleView(functional.linear)
        self._revision: int | None = None

    def module(self, rows: int = 2) -> nn.Module:
        """Return the module to call for a step over so many tokens; the model itself if no kernel differs."""
        kernels = self._current_kernels()
        if not kernels.enabled(rows):
            return self._model
        if kernels is not self._kernels or kernels.revision != self._revision:
            self._view.clear()
            self._view.multiply, self._kernels, self._revision = kernels.multiply, kernels, kernels.revision
        return self._view.of(self._model)


class _Weight:
    """A weight, its kernels by number of rows, and the packed copies that these take."""

    __slots__ = ("_address", "_version", "edition", "kernels", "packed", "tensor")

    def __init__(
        self, tensor: torch.Tensor, kernels: Mapping[int, LinearKernel], edition: int | None, before: _Weight | None
    ) -> None:
        # Keeps the tensor alive, so that its id cannot be reused.
        self.tensor, self.kernels, self.edition = tensor, kernels, edition
        self._address, self._version = tensor.data_ptr(), version_of(tensor)
        unchanged = before is not None and edition is not None and before.edition == edition
        self.packed: dict[LinearKernel, Any] = before.packed if unchanged and before is not None else {}
        for kernel in {*kernels.values()} & PACKERS.keys() - self.packed.keys():
            if kernel is not LinearKernel.HALF or fits_half(tensor):
                self.packed[kernel] = PACKERS[kernel](tensor)

    @property
    def packed_bytes(self) -> int:
        return len(self.packed) * self.tensor.nbytes

    def is_packed_from(self, weight: torch.Tensor) -> bool:
        """Return True if the weight's address and version counter are those at the time of the copy."""
        return weight.data_ptr() == self._address and version_of(weight) == self._version


def _plain_layers(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if _is_plain(layer)]


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Return True if a layer multiplies by a plain matrix, neither quantised nor split nor offloaded."""
    return type(layer) is nn.Linear and type(layer._parameters.get("weight")) in (nn.Parameter, torch.Tensor)


def is_changed_globally() -> bool:
    """Return True if a patch, autocast or a global hook is in force that other kernels would bypass."""
    return nn.Linear.forward is not _linear_forward or torch.is_autocast_enabled("cpu") or has_global_hooks()
