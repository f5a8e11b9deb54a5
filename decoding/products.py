"""Products: the fastest way to multiply a few rows by a model's matrices on the CPU.

A step over several tokens multiplies a few rows x by every weight W. BLAS libraries are made for many rows or for one:
`F.linear`, which asks for x Wᵀ, can take three times as long for two rows as the same product asked for as (W xᵀ)ᵀ,
and for a few more both are far from what a processor can do. oneDNN comes near it where W was laid out for it
beforehand (*packed*), which takes a second copy of the weights. Which way is the fastest depends on the matrix, the
number of rows and the machine: all are timed when a model is first met. One row, plain decoding's own product, is left
as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import pairwise
from math import inf
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias, TypeGuard
from weakref import WeakKeyDictionary

import psutil
import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

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
WITNESSES = 64
"""Elements of a weight that are remembered beside sums, to notice changes by."""

Shape: TypeAlias = tuple[int, ...]


class Way(Enum):
    """How x Wᵀ is asked for."""

    USUAL = "usual"
    TURNED = "turned"
    PACKED = "packed"


Ways: TypeAlias = Mapping[Shape, Mapping[int, Way]]
"""By a weight's shape and the number of rows; whatever is missing goes the usual way."""

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
        return sum(packed.bytes for packed in self._packed.values())

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
            packed.look_again() for packed in self._packed.values()
        )


def products_of(model: PreTrainedModel) -> Products:
    """The fastest ways with this model here; timed the first time, and kept while torch has as many threads."""
    known, threads = _known.get(model), torch.get_num_threads()
    if known is None or known.threads != threads:
        known = _known[model] = Products(model, _ways(model), threads)
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
            return _packed_product(rows, self._packed.pack() if copy is None else copy, parameters["bias"])
        product = _turned_product if way is Way.TURNED else functional.linear
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
        self.copy, self._testimony = _packed(self.weight), _testimony(self._matrix)
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
    copies = [_packed(weight) for _, weight in weights] if Way.PACKED in ways else []
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


def _ways(model: nn.Module) -> Ways:
    layers = _plain_layers(model)
    if not layers or any(not _is_timed(layer.weight) for layer in layers):
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


def _plain_layers(model: nn.Module) -> list[nn.Linear]:
    return [layer for layer in model.modules() if _is_plain(layer)]


def _is_plain(layer: nn.Module) -> TypeGuard[nn.Linear]:
    """Whether a layer multiplies by a plain matrix; what is quantised, offloaded or hooked is another's business."""
    return type(layer) is nn.Linear and "forward" not in vars(layer) and _is_plain_weight(layer.weight)


def _is_plain_weight(weight: torch.Tensor) -> bool:
    return type(weight) in (nn.Parameter, torch.Tensor)


def _is_timed(weight: torch.Tensor) -> bool:
    return weight.device.type == "cpu" and weight.dtype in DTYPES and weight.is_contiguous() and weight.numel() > 0


def _can_pack(weight: torch.Tensor) -> bool:
    """Whether this build of PyTorch, on this processor, multiplies packed weights, and rightly.

    The operations are those that torch.compile's own freezing uses; they are no documented interface.
    """
    if not torch.backends.mkldnn.is_available():
        return False
    rows = weight.new_ones(1, PACKED_FOR, weight.shape[1])
    try:
        product = _packed_product(rows, _packed(weight), None)
    except (AttributeError, RuntimeError):
        return False
    return torch.allclose(product, functional.linear(rows, weight), rtol=0.05, atol=0.05)


def _packed(weight: torch.Tensor) -> torch.Tensor:
    copy: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), PACKED_FOR)
    return copy


def _packed_product(rows: torch.Tensor, packed: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, packed, bias, "none", [], "")
    return product


def _turned_product(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Laid out as the usual product is: what a model does with it next is slow on anything else.
    return product.t().contiguous()[None]


_PRODUCTS: Mapping[Way, Callable[[torch.Tensor, torch.Tensor, torch.Tensor | None], torch.Tensor]] = {
    Way.USUAL: functional.linear,
    Way.TURNED: _turned_product,
    Way.PACKED: _packed_product,
}


@torch.inference_mode()
def _testimony(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """By what a change is noticed that PyTorch does not count, as one through ``weight.data``.

    Returns:
        The sum of each row's bits, so that no change of some elements goes by, and a few elements, so that none of all
        columns does. Taken in a fraction of a plain step.
    """
    width = matrix.shape[1] * matrix.element_size()
    bits = matrix.view(torch.int64 if width % 8 == 0 else torch.int32 if width % 4 == 0 else torch.int16)
    elements = matrix.view(-1)
    return bits.sum(dim=1), elements[:: max(1, len(elements) // WITNESSES)].clone()


def _version(weight: torch.Tensor) -> int:
    """PyTorch's count of the changes to a tensor, which it does not keep for those made in inference mode."""
    return 0 if weight.is_inference() else weight._version
