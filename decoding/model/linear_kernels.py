"""LinearKernels: a model's linear layers computed by the fastest CPU kernel for a few rows.

A step over several tokens multiplies a few rows by every weight, but BLAS libraries are optimised for many rows or for
one: `F.linear`, which computes x Wᵀ, can take three times as long for two rows as the same product computed as (W xᵀ)ᵀ.
With a C compiler, the kernels of :mod:`decoding.native` read each weight once. Every kernel reads the weights in place.
The fastest one depends on the matrix, the number of rows and the machine, so all are timed.

In float32 a single row always takes the default kernel, so that plain decoding equals `generate` bit for bit; in
bfloat16 it is timed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from math import inf
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import torch
from torch import nn
from torch.nn import functional

from decoding.model.module_view import ModuleView
from decoding.model.torch_private import has_global_hooks
from decoding.native.kernels import native_kernels

if TYPE_CHECKING:
    from transformers import PreTrainedModel

DTYPES = (torch.float32, torch.bfloat16)
ROWS = (4, 1, 8, 2, 16, 6, 3, 5, 12, 10, 32, 24, 64)
"""Numbers of rows timed, the most informative first; any other number takes the kernel of the next smaller one."""
MAX_ROWS = 128
"""Larger numbers of rows take this number's kernel."""
SAMPLE_BYTES = 64_000_000
"""Weights multiplied in a timing: more than most processor caches hold, as in a real step."""
MAX_ELEMENTS = 4_000_000
"""Elements of one weight in a timing; of a larger one only the first rows are used."""
PROBE_SECONDS = 0.3
REPEATS = 4
GAIN = 0.95
"""The share of the default's time below which another kernel is chosen."""
_linear_forward = nn.Linear.forward

Shape: TypeAlias = tuple[int, ...]


class LinearKernel(Enum):
    """A kernel to compute x Wᵀ."""

    DEFAULT = "default"
    TRANSPOSED = "transposed"
    NATIVE = "native"


KernelChoice: TypeAlias = Mapping[Shape, Mapping[int, LinearKernel]]
"""Kernels by a weight's shape and the number of rows; missing entries take the default."""


class LinearKernels:
    """The kernels chosen for the shapes of a model's weights.

    Attributes:
        choice: kernels by shape and number of rows.
        threads: torch's number of threads at the timing.
        revision: the revision of the model's state that they were last asked for.
    """

    def __init__(self, choice: KernelChoice, threads: int) -> None:
        self.choice, self.threads, self.revision = choice, threads, 0
        default = LinearKernel.DEFAULT
        self._for_one = any(kernels.get(1, default) is not default for kernels in choice.values())

    @classmethod
    def timed(cls, model: nn.Module) -> LinearKernels:
        """Time the kernels on a model's layers."""
        return cls(fastest_kernels([layer for layer in model.modules() if _is_plain(layer)]), torch.get_num_threads())

    def enabled(self, rows: int = 2) -> bool:
        """Return True if a step over so many tokens may be computed by another kernel than the default."""
        return bool(self.choice) and (rows > 1 or self._for_one) and not is_changed_globally()

    def multiply(self, rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        """Compute rows Wᵀ + b by the fastest kernel.

        Args:
            rows: shape (1, T, in); any other takes the default kernel.
            weight: shape (out, in).
            bias: shape (out,).

        Returns:
            Shape (1, T, out), contiguous.
        """
        kernels, shape = self.choice.get(weight.shape), rows.shape
        if kernels is None or type(weight) not in _PLAIN or len(shape) != 3 or shape[0] != 1:
            return functional.linear(rows, weight, bias)
        return PRODUCTS[kernels.get(min(shape[1], MAX_ROWS), LinearKernel.DEFAULT)](rows, weight, bias)


class ModelWithKernels:
    """A model, and the same model with its linear layers computed by the fastest kernels."""

    def __init__(self, model: PreTrainedModel, current_kernels: Callable[[], LinearKernels]) -> None:
        self._model, self._current_kernels = model, current_kernels
        self._view, self._made_for = ModuleView(functional.linear), (LinearKernels({}, 0), 0)

    def module(self, rows: int = 2) -> nn.Module:
        """Return the module to call for a step over so many tokens; the model itself if no kernel differs."""
        kernels = self._current_kernels()
        if not kernels.enabled(rows):
            return self._model
        if self._made_for != (kernels, kernels.revision):
            # A new view, so that modules that have left the model are released.
            self._view, self._made_for = ModuleView(kernels.multiply), (kernels, kernels.revision)
        return self._view.of(self._model)


@torch.inference_mode()
def measure(weights: Sequence[tuple[Shape, torch.Tensor]], *, seconds: float = PROBE_SECONDS) -> KernelChoice:
    """Time all kernels on these weights, in the order of a step, and return the fastest.

    Args:
        weights: pairs of a layer's shape and a sample weight for it, shape (out, in).
        seconds: the approximate time to spend.
    """
    kernels = [kernel for kernel in LinearKernel if kernel is not LinearKernel.NATIVE or native_kernels() is not None]
    numbers = [rows for rows in ROWS if rows > 1 or weights[0][1].dtype is torch.bfloat16]
    # The minimum over the repeats: other load on the machine can only add time.
    least: dict[int, dict[Shape, dict[LinearKernel, float]]] = {}
    begun = perf_counter()
    for _ in range(REPEATS):
        for rows in numbers:
            if perf_counter() - begun > seconds and least:
                break
            of_rows = least.setdefault(rows, {})
            for kernel in kernels:
                for shape, time in _round(weights, rows, kernel):
                    times = of_rows.setdefault(shape, {})
                    times[kernel] = min(time, times.get(kernel, inf))
    fastest = {rows: {shape: _fastest(times) for shape, times in least[rows].items()} for rows in sorted(least)}
    found: dict[Shape, dict[int, LinearKernel]] = {}
    # If time was short, smaller numbers of rows take the kernel of the smallest one timed; but one row has its own.
    several = [rows for rows in fastest if rows > 1]
    spans = {rows: (rows, following) for rows, following in pairwise((*several, MAX_ROWS + 1))}
    spans[several[0]] = (2, spans[several[0]][1])
    for rows, (first, following) in {**({1: (1, 2)} if 1 in fastest else {}), **spans}.items():
        for shape, kernel in fastest[rows].items():
            found.setdefault(shape, {}).update(dict.fromkeys(range(first, following), kernel))
    return found


def _round(
    weights: Sequence[tuple[Shape, torch.Tensor]], rows: int, kernel: LinearKernel
) -> Iterator[tuple[Shape, float]]:
    """Yield the median time of each shape's products, each weight in turn: one alone would stay in the caches."""
    inputs = {weight.shape[1]: weight.new_ones(1, rows, weight.shape[1]) for _, weight in weights}
    times: dict[Shape, list[float]] = {}
    for shape, weight in weights:
        started = perf_counter()
        PRODUCTS[kernel](inputs[weight.shape[1]], weight, None)
        times.setdefault(shape, []).append(perf_counter() - started)
    for shape, of_shape in times.items():
        yield shape, median(of_shape)


def _fastest(times: Mapping[LinearKernel, float]) -> LinearKernel:
    """Return the fastest kernel; the default unless another wins clearly."""
    kernel = min(times, key=times.__getitem__)
    return kernel if times[kernel] < GAIN * times[LinearKernel.DEFAULT] else LinearKernel.DEFAULT


def fastest_kernels(layers: Sequence[nn.Linear]) -> KernelChoice:
    """Return the fastest kernels for these layers. Empty unless every weight is a supported CPU tensor."""
    weights = [layer.weight.detach() for layer in layers]
    if not weights or any(
        weight.device.type != "cpu" or weight.dtype not in DTYPES or not weight.is_contiguous() or not weight.numel()
        for weight in weights
    ):
        return {}
    sample: list[tuple[Shape, torch.Tensor]] = []
    size, shapes = 0, set[Shape]()
    for weight in weights:  # enough for a timing, every shape among them
        shape = tuple(weight.shape)
        if size < SAMPLE_BYTES or shape not in shapes:
            sample.append((shape, weight[: max(1, MAX_ELEMENTS // shape[1])]))
            size, shapes = size + sample[-1][1].nbytes, shapes | {shape}
    return measure(sample)


def transposed_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x Wᵀ + b computed as (W xᵀ)ᵀ; ``rows`` has shape (1, n, in), the product (1, n, out)."""
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Contiguous like the default product: the model's next operation would be slow otherwise.
    return product.t().contiguous()[None]


def native_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x Wᵀ + b by the native kernels; ``rows`` has shape (1, n, in), the product (1, n, out)."""
    kernels = native_kernels()
    if kernels is None or rows.dtype != weight.dtype or weight.dtype not in DTYPES or not weight.is_contiguous():
        return functional.linear(rows, weight, bias)
    return kernels.product(rows, weight, bias)


PRODUCTS: Mapping[LinearKernel, Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]] = {
    LinearKernel.DEFAULT: functional.linear,
    LinearKernel.TRANSPOSED: transposed_product,
    LinearKernel.NATIVE: native_product,
}
_PLAIN = (nn.Parameter, torch.Tensor)


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Return True if a layer multiplies by a plain matrix, neither quantised nor split nor offloaded."""
    return type(layer) is nn.Linear and type(layer._parameters.get("weight")) in _PLAIN


def is_changed_globally() -> bool:
    """Return True if a patch, autocast or a global hook is in force that other kernels would bypass."""
    return nn.Linear.forward is not _linear_forward or torch.is_autocast_enabled("cpu") or has_global_hooks()
