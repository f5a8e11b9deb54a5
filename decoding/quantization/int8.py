"""Int8: linear layers with eight-bit weights and activations, multiplied as integers.

In C (:mod:`decoding.native`) weights are packed as in GGUF's Q8_0, where 32 numbers of a row have a scale, and
activations likewise. Matrix tiles are faster with one scale for each row of weights, and for each 64 activations;
PyTorch, without C, has one for each row of both. Sums of integers are exact in any order, so a row's product is the
same bit for bit however many rows stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from decoding.arguments import check_functions, shown
from decoding.model.private_interfaces import int8_product, pack_int8
from decoding.model.unwrapping import unwrapped
from decoding.native.kernels import DTYPES, NativeKernels, native_kernels
from decoding.native.packed_weight import GROUP, PackedWeight, Packing
from decoding.native.weight_memory import WeightMemory
from decoding.quantization.narrow import is_exact_in_bfloat16
from decoding.quantization.packed import FINE, Fixed, PackedLinear, check_stays_on_cpu

if TYPE_CHECKING:
    from transformers import PreTrainedModel

METHODS = ("int8",)
MAX_INT8 = 127
NARROW_MAX = 64
"""Largest weight on processors without VNNI, whose kernels add two products of 8 bits in 16: 2 · 255 · 64 < 2¹⁵."""
_ROWS_AT_ONCE = 2048
_WIDTH_BY_TILES, _LEAST_BY_TILES = 64, 32
"""What the in-features of a layer multiplied by tiles are a multiple of, and the fewest outputs that it has."""
_DIVIDED, _LEAST_DIVIDED = ("qkv_proj", "gate_up_proj"), 1024
"""Layers that C multiplies in parts, and the fewest outputs with which each part is taken to have enough for tiles."""
_TINY = 1e-30
"""Least scale of a row, so that a row of zeros is not divided by zero."""

Notify = Callable[[int, int], None]


class Int8Linear(Fixed):
    """A linear layer with eight-bit weights, multiplied by matrix tiles or by PyTorch."""

    def __init__(
        self, weight: torch.Tensor, bias: torch.Tensor | None, shared: _ScaledRows, native: NativeKernels | None
    ) -> None:
        """Take a weight, shape (out, in), a bias, the last rows scaled, which a model's layers share, and tiles."""
        super().__init__()
        self.bias: torch.Tensor | None
        self.weight: torch.Tensor | None
        self.scales: torch.Tensor
        self.out_features, self.in_features = weight.shape
        self._native = native
        integers, scales = _rounded(weight.detach(), MAX_INT8 if self._native else max_weight())
        self._packed, self._shared = None if self._native else pack_int8(integers, scales), shared
        self.register_buffer("weight", integers if self._native else None)
        self.register_buffer("scales", scales)
        self.register_buffer("bias", None if bias is None else bias.detach().float())

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute rows Wᵀ + b, shape (…, out), in the dtype of the rows, shape (…, in)."""
        if self._native is not None:
            known = rows if rows.dtype in DTYPES else rows.float()
            bias = None if self.bias is None else self.bias.to(known.dtype)
            return self._native.product(known, self.get_buffer("weight"), bias, self.scales).to(rows.dtype)
        scaled, scale = self._shared.of(rows)
        product = int8_product(scaled, self._packed, 1 / MAX_INT8).mul_(scale)
        if self.bias is not None:
            product.add_(self.bias)
        return product.to(rows.dtype)


def _is_for_tiles(native: NativeKernels | None, weight: torch.Tensor, name: str) -> bool:
    outputs, inputs = weight.shape
    least = _LEAST_DIVIDED if name in _DIVIDED else _LEAST_BY_TILES
    return native is not None and native.tiles and inputs % _WIDTH_BY_TILES == 0 and outputs >= least


def _q8_0_blocks(weight: torch.Tensor) -> torch.Tensor:
    """Return a weight, shape (out, in), in blocks as a GGUF file has them, shape (out, in / 32, 34), uint8."""
    inputs = Packing.Q8_0.inputs
    blocks = torch.empty(len(weight), weight.shape[1] // inputs, 2 + inputs, dtype=torch.uint8)
    for first in range(0, len(weight), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        part = weight[rows].float().view(-1, blocks.shape[1], inputs)
        scales = torch.linalg.vector_norm(part, torch.inf, dim=2, keepdim=True).div_(MAX_INT8).half()
        integers = (part / scales.float().clamp_min_(_TINY)).round_().clamp_(-MAX_INT8, MAX_INT8).char()
        torch.cat([scales.view(torch.uint8), integers.view(torch.uint8)], dim=2, out=blocks[rows])
    return blocks


def _int8_layer(layer: nn.Linear | Conv1D, name: str, shared: _ScaledRows, memory: WeightMemory) -> nn.Module:
    """Return a layer in int8: for tiles where they are faster, else packed as Q8_0, or for PyTorch if it cannot be."""
    native, weight = native_kernels(), _weight_of(layer)
    if _is_for_tiles(native, weight, name):
        return Int8Linear(weight, layer.bias, shared, native)
    outputs, inputs = weight.shape
    is_cut = name == "gate_up_proj" and outputs % (2 * GROUP)  # its halves would share a group
    if native is not None and inputs % Packing.Q8_0.inputs == 0 and not is_cut:
        blocks, is_fine = _q8_0_blocks(weight), name in FINE
        if blocks[:, :, :2].contiguous().view(torch.half).isfinite().all():
            packed = PackedWeight(native, Packing.Q8_0, blocks, (outputs, inputs), is_fine=is_fine, memory=memory)
            return PackedLinear(packed, layer.bias)
    return Int8Linear(weight, layer.bias, shared, None)


def _weight_of(layer: nn.Linear | Conv1D) -> torch.Tensor:
    """Return the weight of a layer, shape (out, in)."""
    weight = layer.weight.detach()
    return weight.t() if isinstance(layer, Conv1D) else weight


def _rounded(weight: torch.Tensor, largest: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a weight, shape (out, in), in int8 up to ``largest``, and the scale of each of its rows, shape (out,)."""
    native = native_kernels()
    if native is not None and weight.dtype in DTYPES and weight.is_contiguous():
        return native.quantize(weight, largest)
    integers, scales = torch.empty(weight.shape, dtype=torch.int8), torch.empty(len(weight))
    # Some rows at a time: a whole vocabulary's in float32 would be the largest thing in memory.
    for first in range(0, len(weight), _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        part = weight[rows].float()
        scales[rows] = torch.linalg.vector_norm(part, torch.inf, dim=1).clamp_min_(_TINY).div_(largest)
        integers[rows] = (part / scales[rows, None]).round_()
    return integers, scales


class RowEmbedding(nn.Module):
    """An embedding stored in another dtype than that in which the model runs."""

    def __init__(self, weight: torch.Tensor, dtype: torch.dtype, embed_scale: float = 1.0) -> None:
        """Take the stored weight, the dtype of the rows, and what multiplies them."""
        super().__init__()
        self.num_embeddings, self.embedding_dim = weight.shape
        self.dtype, self.embed_scale = dtype, embed_scale
        # A buffer: the dtype of a model's first parameter is taken for that of its activations.
        self.register_buffer("weight", weight.detach())

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Follow the model's dtype in what it returns. Raises NotImplementedError for another device."""
        self.dtype = fn(torch.empty(0, dtype=self.dtype)).dtype
        check_stays_on_cpu(fn)
        return self

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the embeddings of token ids, shape (…, width)."""
        return nn.functional.embedding(ids, self.get_buffer("weight")).to(self.dtype) * self.embed_scale


class _ScaledRows:
    """The rows last scaled: the layers that read one tensor (query, key and value; gate and up) follow each other."""

    def __init__(self) -> None:
        self._last: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None

    def of(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rows between -1 and 1, and the scale of each, shape (…, 1), both float32."""
        # Read and set as one value, since threads may share a model.
        last = self._last
        if last is not None and last[0] is rows and not rows.requires_grad:
            return last[1], last[2]
        wide = rows.float()
        scale = torch.linalg.vector_norm(wide, torch.inf, dim=-1, keepdim=True).clamp_min_(_TINY)
        scaled = wide / scale
        # Kept only where nothing else writes to it: outside of inference the rows may be parts of a graph.
        self._last = (rows, scaled, scale) if rows.is_inference() else None
        return scaled, scale


def quantize(
    model: PreTrainedModel,
    method: str = "int8",
    *,
    dtype: torch.dtype | None = None,
    on_layer: Notify | None = None,
) -> None:
    """Quantise a model's linear layers in place, one after another, so that memory falls on the way; return None.

    Embeddings, norms, and experts held as one tensor keep their precision. Activations between the layers have that of
    ``dtype``; float32 is the most exact and, on processors without bfloat16, the fastest.

    Args:
        model: any causal language model of transformers, on the CPU.
        method: "int8", the only one.
        dtype: of the activations; None for the model's. The embedding stays stored as it is.
        on_layer: called with the number of layers done and their total. If it raises, or Ctrl+C is pressed, the layers
            done stay int8, and a second call quantises the others.

    Raises:
        TypeError: the model is not a module: its name, say.
        ValueError: the method is unknown, ``dtype`` is not a floating-point one, or ``on_layer`` is not callable; the
            model is as it was.
        NotImplementedError: the model is not on the CPU, is quantised, split over processes, or has no linear layers.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    check_functions(on_layer=on_layer)
    if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
        raise ValueError(f"dtype must be a floating-point one of torch, not {shown(dtype)}")
    model = unwrapped(model)
    layers = list(_layers(model))
    _check(model, layers)
    shared, memory = _ScaledRows(), WeightMemory()
    embedding, runs_in = model.get_input_embeddings(), dtype or model.dtype
    if type(embedding) is nn.Embedding:
        stored = embedding.weight.bfloat16() if is_exact_in_bfloat16(embedding.weight) else embedding.weight
        if stored.dtype != runs_in:
            model.set_input_embeddings(RowEmbedding(stored, runs_in))
    del embedding
    for done in range(len(layers)):
        # Popped, so that nothing here holds the weights of a layer that is done.
        parent, name, layer = layers.pop()
        setattr(parent, name, _int8_layer(layer, name, shared, memory).train(layer.training))
        if on_layer is not None:
            on_layer(done + 1, done + 1 + len(layers))
    nn.Module.to(model, runs_in)


def _layers(model: nn.Module) -> Iterator[tuple[nn.Module, str, Any]]:
    for parent in model.modules():
        for name, child in parent._modules.items():
            plain = type(getattr(child, "weight", None)) in (nn.Parameter, torch.Tensor)
            if type(child) in (nn.Linear, Conv1D) and plain:
                yield parent, name, child


def _check(model: PreTrainedModel, layers: list[tuple[nn.Module, str, Any]]) -> None:
    """Raise NotImplementedError unless the model can be quantised."""
    done = not layers and any(isinstance(module, Int8Linear | PackedLinear) for module in model.modules())
    if done or getattr(model, "is_quantized", False):
        raise NotImplementedError("the model is quantised already")
    devices = {parameter.device.type for parameter in model.parameters()}
    if devices != {"cpu"}:
        raise NotImplementedError(f"int8 is for models on a CPU; this one is on {', '.join(sorted(devices))}")
    if not layers:
        raise NotImplementedError(f"{type(model).__name__} has no linear layers to quantise")
    max_weight()


@lru_cache(maxsize=1)
def max_weight() -> int:
    """Return the largest weight whose products this processor sums exactly. Raises NotImplementedError if none."""
    for largest in (MAX_INT8, NARROW_MAX):
        weight = torch.full((64, 256), largest, dtype=torch.int8)
        weight[::2] *= -1
        ones = torch.ones(3, 256)
        try:
            found = int8_product(ones, pack_int8(weight, torch.ones(64)), 1 / MAX_INT8)
        except (AttributeError, RuntimeError) as error:
            raise NotImplementedError("this build of PyTorch has no kernel for int8 on this processor") from error
        if torch.allclose(found, ones @ weight.float().t(), rtol=1e-5):
            return largest
    raise NotImplementedError("this processor's int8 kernel does not sum exactly")
