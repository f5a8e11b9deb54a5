"""Ways to multiply a few rows by a matrix on the CPU, and which of them is the fastest here.

BLAS libraries are made for many rows or for one: `F.linear`, which asks for x Wᵀ, can take three times as long for two
rows as the same product asked for as (W xᵀ)ᵀ, and for a few more both are far from what a processor can do. oneDNN
comes near it where W was laid out for it beforehand (*packed*), which takes a second copy of the weights. Which way is
the fastest depends on the matrix, the number of rows and the machine, so all are timed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from math import inf
from statistics import median
from time import perf_counter
from typing import TypeAlias

import psutil
import torch
from torch import nn
from torch.nn import functional

DTYPES = (torch.float32, torch.bfloat16)
ROWS = (4, 8, 2, 16, 6, 3, 5, 12, 10, 32, 24, 64)
"""Numbers of rows that are timed, what tells most first; those between go by the one below."""
MOST_ROWS = 128
SAMPLE_BYTES = 64_000_000
"""Weights multiplied for a timing: more than lie in most processors' caches, as in a real step."""
MOST_ELEMENTS = 4_000_000
"""Of one weight in a timing; the first rows stand for a larger one."""
PROBE_SECONDS = 0.4
REPEATS = 4
HOPELESS = 1.5
"""A way that takes so many times the best one's time is not timed again."""
GAIN = 0.95
"""What another way must take of the usual one's time to be taken."""
PACKED_FOR = 8
"""Rows that oneDNN lays weights out for; that of one row is slow for all others."""
PACKED_SHARE = 0.25
"""Packed copies take no more than this share of the memory that is free."""

Shape: TypeAlias = tuple[int, ...]


class Way(Enum):
    """How x Wᵀ is asked for."""

    USUAL = "usual"
    TURNED = "turned"
    PACKED = "packed"


Ways: TypeAlias = Mapping[Shape, Mapping[int, Way]]
"""By a weight's shape and the number of rows; whatever is missing goes the usual way."""


@torch.inference_mode()
def measure(
    weights: Sequence[tuple[Shape, torch.Tensor]], *, packable: bool = True, seconds: float = PROBE_SECONDS
) -> Ways:
    """The fastest ways to multiply a few rows by these weights, each in its turn as in a step.

    Args:
        weights: what each is known by, and the weight, shape (out, in).
        packable: whether there is room for packed copies.
        seconds: to spend on timing, about.
    """
    ways = [Way.USUAL, Way.TURNED, *([Way.PACKED] if packable and _can_pack(weights[0][1]) else [])]
    copies = [packed(weight) for _, weight in weights] if Way.PACKED in ways else []
    begun, times = perf_counter(), dict[int, _Times]()
    for repeat in range(REPEATS):
        for rows in ROWS:
            if perf_counter() - begun > seconds and times:
                break
            of_rows = times.setdefault(rows, _Times(ways))
            inputs = {weight.shape[1]: weight.new_ones(1, rows, weight.shape[1]) for _, weight in weights}
            for way in of_rows.in_play:
                laid_out = copies if way is Way.PACKED else [weight for _, weight in weights]
                if repeat == 0:
                    # What the first of a kind alone takes; timed together with others, or it would lie in the caches.
                    for (_, weight), matrix in zip(weights, laid_out, strict=True):
                        _PRODUCTS[way](inputs[weight.shape[1]], matrix, None)
                of_round: dict[Shape, list[float]] = {}
                for (shape, weight), matrix in zip(weights, laid_out, strict=True):
                    started = perf_counter()
                    _PRODUCTS[way](inputs[weight.shape[1]], matrix, None)
                    of_round.setdefault(shape, []).append(perf_counter() - started)
                of_rows.note(way, of_round)
            if repeat > 0:
                of_rows.drop_the_hopeless()
    fastest = {rows: times[rows].fastest() for rows in sorted(times)}
    found: dict[Shape, dict[int, Way]] = {}
    # Fewer rows than were timed, if time was short, go by the fewest that were.
    for rows, (first, following) in zip(fastest, pairwise((2, *list(fastest)[1:], MOST_ROWS + 1)), strict=True):
        for shape, way in fastest[rows].items():
            found.setdefault(shape, {}).update(dict.fromkeys(range(first, following), way))
    return found


class _Times:
    """Timings of the ways with one number of rows."""

    def __init__(self, ways: Iterable[Way]) -> None:
        self.in_play = list(ways)
        # The least of the rounds: whatever else the machine does can only make one longer.
        self._least: dict[Way, dict[Shape, float]] = {way: {} for way in self.in_play}

    def note(self, way: Way, seconds: Mapping[Shape, Sequence[float]]) -> None:
        """Take in the times of one round, those of each shape's weights."""
        least = self._least[way]
        for shape, of_shape in seconds.items():
            least[shape] = min(median(of_shape), least.get(shape, inf))

    def drop_the_hopeless(self) -> None:
        totals = {way: sum(self._least[way].values()) for way in self.in_play}
        least = min(totals.values())
        self.in_play = [way for way in self.in_play if totals[way] < HOPELESS * least]

    def fastest(self) -> dict[Shape, Way]:
        """By shape; the usual one unless another wins clearly."""
        found = {}
        for shape, usual in self._least[Way.USUAL].items():
            way = min(self._least, key=lambda way: self._least[way][shape])
            found[shape] = way if self._least[way][shape] < GAIN * usual else Way.USUAL
        return found


def fastest_ways(layers: Sequence[nn.Linear]) -> Ways:
    """The fastest ways for these layers' matrices; none where they are not what this is about."""
    if not layers or any(not is_timed(layer.weight) for layer in layers):
        return {}
    distinct = {id(layer.weight): layer.weight.nbytes for layer in layers}
    packable = sum(distinct.values()) <= PACKED_SHARE * psutil.virtual_memory().available
    return measure(_sample(layers), packable=packable)


def _sample(layers: Sequence[nn.Linear]) -> list[tuple[Shape, torch.Tensor]]:
    """Weights enough for a timing, with every shape among them."""
    sample: list[tuple[Shape, torch.Tensor]] = []
    size, shapes = 0, set[Shape]()
    for layer in layers:
        shape = tuple(layer.weight.shape)
        if size < SAMPLE_BYTES or shape not in shapes:
            part = layer.weight.detach()[: max(1, MOST_ELEMENTS // shape[1])]
            sample.append((shape, part))
            size, shapes = size + part.nbytes, shapes | {shape}
    return sample


def is_timed(weight: torch.Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype in DTYPES and weight.is_contiguous() and weight.numel() > 0


def _can_pack(weight: torch.Tensor) -> bool:
    """Whether this build of PyTorch, on this processor, multiplies packed weights, and rightly.

    The operations are those that torch.compile's own freezing uses; they are no documented interface.
    """
    if not torch.backends.mkldnn.is_available():
        return False
    rows = weight.new_ones(1, PACKED_FOR, weight.shape[1])
    try:
        product = packed_product(rows, packed(weight), None)
    except (AttributeError, RuntimeError):
        return False
    return torch.allclose(product, functional.linear(rows, weight), rtol=0.05, atol=0.05)


def packed(weight: torch.Tensor) -> torch.Tensor:
    copy: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), PACKED_FOR)
    return copy


def packed_product(rows: torch.Tensor, packed: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, packed, bias, "none", [], "")
    return product


def turned_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Laid out as the usual product is: what a model does with it next is slow on anything else.
    return product.t().contiguous()[None]


_PRODUCTS: Mapping[Way, Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]] = {
    Way.USUAL: functional.linear,
    Way.TURNED: turned_product,
    Way.PACKED: packed_product,
}
