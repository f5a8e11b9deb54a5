"""Timing of the kernels that can multiply a few rows by a weight on the CPU, to choose the fastest.

BLAS libraries are optimised for many rows or for one: `F.linear`, which computes x Wᵀ, can take three times as long for
two rows as the same product computed as (W xᵀ)ᵀ, and for a few more both are far below the processor's peak. oneDNN
comes near the peak with *prepacked* weights, a second copy of W in its own layout. With a C compiler, the kernels of
:mod:`decoding.native` read each weight once, in place. On processors that convert float16 but do not multiply in
bfloat16, FBGEMM is several times faster with a copy in float16, which is nearly lossless for bfloat16 weights. The
fastest kernel depends on the matrix, the number of rows and the machine, so all are timed.

In float32 a single row always takes the default kernel, so that plain decoding equals `generate` bit for bit; in
bfloat16 it is timed too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from math import inf
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

import psutil
import torch
from torch import nn
from torch.nn import functional

from decoding.model.torch_private import (
    PREPACKED_ROWS,
    half_packed,
    half_product,
    multiplies_bfloat16,
    prepacked,
    prepacked_product,
)
from decoding.native.kernels import native_kernels

DTYPES = (torch.float32, torch.bfloat16)
ROWS = (4, 1, 8, 2, 16, 6, 3, 5, 12, 10, 32, 24, 64)
"""Numbers of rows timed, the most informative first; any other number takes the kernel of the next smaller one."""
MAX_ROWS = 128
"""Larger numbers of rows take this number's kernel."""
SAMPLE_BYTES = 64_000_000
"""Weights multiplied in a timing: more than most processor caches hold, as in a real step."""
MAX_ELEMENTS = 4_000_000
"""Elements of one weight in a timing; of a larger one only the first rows are used."""
PROBE_SECONDS = 0.4
REPEATS = 4
SLOW = 1.5
"""A kernel this many times slower than the best one is not timed again."""
GAIN = 0.95
"""The share of the default's time below which another kernel is chosen."""
PREPACKED_SHARE = 0.25
"""The share of free memory that prepacked copies may take."""

Shape: TypeAlias = tuple[int, ...]


class LinearKernel(Enum):
    """A kernel to compute x Wᵀ."""

    DEFAULT = "default"
    TRANSPOSED = "transposed"
    PREPACKED = "prepacked"
    HALF = "half"
    NATIVE = "native"


KernelChoice: TypeAlias = Mapping[Shape, Mapping[int, LinearKernel]]
"""Kernels by a weight's shape and the number of rows; missing entries take the default."""


@torch.inference_mode()
def measure(
    weights: Sequence[tuple[Shape, torch.Tensor]], *, packable: bool = True, seconds: float = PROBE_SECONDS
) -> KernelChoice:
    """Time all kernels on these weights, in the order of a step, and return the fastest.

    Args:
        weights: pairs of a layer's shape and a sample weight for it, shape (out, in).
        packable: False if there is no memory for prepacked copies.
        seconds: the approximate time to spend.
    """
    plain = [weight for _, weight in weights]
    copies = _copies(plain, packable=packable)
    begun, times = perf_counter(), dict[int, _Times]()
    for repeat in range(REPEATS):
        for rows in ROWS if plain[0].dtype is torch.bfloat16 else (rows for rows in ROWS if rows > 1):
            if perf_counter() - begun > seconds and times:
                break
            of_rows = times.setdefault(rows, _Times(copies))
            inputs = {weight.shape[1]: weight.new_ones(1, rows, weight.shape[1]) for _, weight in weights}
            for kernel in of_rows.in_play:
                laid_out = copies[kernel]
                if repeat == 0:
                    # Warm up each kernel over all weights: one weight alone would stay in the caches.
                    for (_, weight), matrix in zip(weights, laid_out, strict=True):
                        PRODUCTS[kernel](inputs[weight.shape[1]], matrix, None)
                of_round: dict[Shape, list[float]] = {}
                for (shape, weight), matrix in zip(weights, laid_out, strict=True):
                    started = perf_counter()
                    PRODUCTS[kernel](inputs[weight.shape[1]], matrix, None)
                    of_round.setdefault(shape, []).append(perf_counter() - started)
                of_rows.note(kernel, of_round)
            if repeat > 0:
                of_rows.drop_slow()
    fastest = {rows: times[rows].fastest() for rows in sorted(times)}
    found: dict[Shape, dict[int, LinearKernel]] = {}
    # If time was short, smaller numbers of rows take the kernel of the smallest one timed; but one row has its own.
    several = [rows for rows in fastest if rows > 1]
    spans = {rows: (rows, following) for rows, following in pairwise((*several, MAX_ROWS + 1))}
    spans[several[0]] = (2, spans[several[0]][1])
    for rows, (first, following) in {**({1: (1, 2)} if 1 in fastest else {}), **spans}.items():
        for shape, kernel in fastest[rows].items():
            found.setdefault(shape, {}).update(dict.fromkeys(range(first, following), kernel))
    return found


def _copies(weights: Sequence[torch.Tensor], *, packable: bool) -> dict[LinearKernel, Sequence[Any]]:
    """Return the kernels to time, and the weights as each takes them."""
    kernels = [LinearKernel.DEFAULT, LinearKernel.TRANSPOSED]
    if native_kernels() is not None:
        kernels.append(LinearKernel.NATIVE)
    copies: dict[LinearKernel, Sequence[Any]] = dict.fromkeys(kernels, weights)
    if packable:
        packers = {kernel: pack for kernel, pack in PACKERS.items() if _can_pack(kernel, weights[0])}
        copies |= {kernel: [pack(weight) for weight in weights] for kernel, pack in packers.items()}
    return copies


class _Times:
    """Timings of the kernels with one number of rows."""

    def __init__(self, kernels: Iterable[LinearKernel]) -> None:
        self.in_play = list(kernels)
        # The minimum over the rounds: other load on the machine can only add time.
        self._least: dict[LinearKernel, dict[Shape, float]] = {kernel: {} for kernel in self.in_play}

    def note(self, kernel: LinearKernel, seconds: Mapping[Shape, Sequence[float]]) -> None:
        """Record the seconds of one round, by the shape of the weights."""
        least = self._least[kernel]
        for shape, of_shape in seconds.items():
            least[shape] = min(median(of_shape), least.get(shape, inf))

    def drop_slow(self) -> None:
        totals = {kernel: sum(self._least[kernel].values()) for kernel in self.in_play}
        least = min(totals.values())
        self.in_play = [kernel for kernel in self.in_play if totals[kernel] < SLOW * least]

    def fastest(self) -> dict[Shape, LinearKernel]:
        """Return the fastest kernel by shape; the default unless another wins clearly."""
        found = {}
        for shape, default in self._least[LinearKernel.DEFAULT].items():
            kernel = min(self._least, key=lambda kernel: self._least[kernel][shape])
            found[shape] = kernel if self._least[kernel][shape] < GAIN * default else LinearKernel.DEFAULT
        return found


def fastest_kernels(layers: Sequence[nn.Linear]) -> KernelChoice:
    """Return the fastest kernels for these layers. Empty unless every weight is a supported CPU tensor."""
    if not layers or any(not is_timed(layer.weight) for layer in layers):
        return {}
    distinct = {id(layer.weight): layer.weight.nbytes for layer in layers}
    packable = sum(distinct.values()) <= PREPACKED_SHARE * psutil.virtual_memory().available
    return measure(_sample(layers), packable=packable)


def _sample(layers: Sequence[nn.Linear]) -> list[tuple[Shape, torch.Tensor]]:
    """Return enough weights for a timing, every shape among them."""
    sample: list[tuple[Shape, torch.Tensor]] = []
    size, shapes = 0, set[Shape]()
    for layer in layers:
        shape = tuple(layer.weight.shape)
        if size < SAMPLE_BYTES or shape not in shapes:
            part = layer.weight.detach()[: max(1, MAX_ELEMENTS // shape[1])]
            sample.append((shape, part))
            size, shapes = size + part.nbytes, shapes | {shape}
    return sample


def is_timed(weight: torch.Tensor) -> bool:
    """Return True if there is more than one kernel for a weight."""
    return weight.device.type == "cpu" and weight.dtype in DTYPES and weight.is_contiguous() and weight.numel() > 0


def _can_pack(kernel: LinearKernel, weight: torch.Tensor) -> bool:
    """Return True if this build of PyTorch, on this processor, multiplies packed weights correctly."""
    if kernel is LinearKernel.PREPACKED and not torch.backends.mkldnn.is_available():
        return False
    if kernel is LinearKernel.HALF and (weight.dtype != torch.bfloat16 or multiplies_bfloat16()):
        # Packing takes seconds for each billion weights, which must be worth it.
        return False
    rows = weight.new_ones(1, PREPACKED_ROWS, weight.shape[1])
    try:
        product = PRODUCTS[kernel](rows, PACKERS[kernel](weight), None)
    except (AttributeError, RuntimeError):
        return False
    return torch.allclose(product, functional.linear(rows, weight), rtol=0.05, atol=0.05)


def fits_half(weight: torch.Tensor) -> bool:
    """Return True if float16 holds a bfloat16 weight: in range, and with an error of at most 2⁻²⁴ near zero."""
    return weight.dtype == torch.bfloat16 and bool(weight.abs().amax() <= torch.finfo(torch.float16).max)


def transposed_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x Wᵀ + b computed as (W xᵀ)ᵀ; ``rows`` has shape (1, n, in), the product (1, n, out)."""
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Contiguous like the default product: the model's next operation would be slow otherwise.
    return product.t().contiguous()[None]


def native_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Return x Wᵀ + b by the native kernels; ``rows`` has shape (1, n, in), the product (1, n, out)."""
    kernels = native_kernels()
    if kernels is None or rows.dtype != weight.dtype:
        return functional.linear(rows, weight, bias)
    return kernels.product(rows, weight, bias)


PACKERS: Mapping[LinearKernel, Callable[[torch.Tensor], Any]] = {
    LinearKernel.PREPACKED: prepacked,
    LinearKernel.HALF: half_packed,
}
"""Functions that make the copy of a weight that a kernel multiplies by; the other kernels take the weight itself."""
PRODUCTS: Mapping[LinearKernel, Callable[[torch.Tensor, Any, torch.Tensor | None], torch.Tensor]] = {
    LinearKernel.DEFAULT: functional.linear,
    LinearKernel.TRANSPOSED: transposed_product,
    LinearKernel.PREPACKED: prepacked_product,
    LinearKernel.HALF: half_product,
    LinearKernel.NATIVE: native_product,
}
