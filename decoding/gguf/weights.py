"""Weights: a GGUF file's tensors become a model's modules, packed as they are, in 16 bits, or unpacked to float32."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from decoding.gguf.file import GgufFile
from decoding.gguf.header import GgufTensor
from decoding.gguf.metadata import GgufError, quoted
from decoding.gguf.tensor_names import input_order, log_of_negative
from decoding.gguf.tensor_types import TensorType
from decoding.native.kernels import NativeKernels
from decoding.native.packed_weight import GROUP, PackedWeight, Packing
from decoding.native.weight_memory import WeightMemory, copy_for_products
from decoding.quantization.file_experts import ExpertWeights, FileExperts
from decoding.quantization.int8 import RowEmbedding
from decoding.quantization.narrow import NarrowLinear
from decoding.quantization.packed import FINE, PackedEmbedding, PackedLinear

_PACKINGS = frozenset(int(packing) for packing in Packing)
_BYTES_AT_ONCE = 1 << 24
_NARROW = {TensorType.BF16: torch.bfloat16, TensorType.F16: torch.float16}


def find_tensor(file: GgufFile, name: str, shape: Sequence[int]) -> GgufTensor:
    """Return the tensor of this name. Raises GgufError if there is none of this shape, or it is not finite."""
    tensor = file.tensors.get(name)
    if tensor is None:
        raise GgufError(f"it has no tensor {quoted(name)}")
    if tensor.shape != tuple(shape) and (1, *tensor.shape) != tuple(shape):
        found, wanted = (" × ".join(map(str, sizes)) for sizes in (tensor.shape, shape))
        raise GgufError(f"tensor {quoted(name)} is of {found}, and its metadata says {wanted}")
    tensor.check_finite()
    return tensor


def put_tensor(
    model: Any,
    name: str,
    tensor: GgufTensor,
    kernels: NativeKernels | None,
    memory: WeightMemory,
    *,
    finely: bool,
) -> None:
    """Make a tensor a parameter of a model, by the parameter's name; both have the same shape.

    A quantised matrix stays packed, in a module that takes the place of the parameter's, and one in 16 bits as it is;
    without kernels in C a quantised one is unpacked.
    """
    module, _, kind = name.rpartition(".")
    owner: Any = model.get_submodule(module)
    order = input_order(name, model.config)
    if isinstance(owner, PackedLinear | NarrowLinear):
        owner.bias = dequantize(tensor)
    elif tensor.type in _NARROW and isinstance(owner, nn.Linear | nn.Embedding):
        narrow = _in_input_order(_in_16_bits(tensor), order)
        is_layer = type(owner) is nn.Linear
        tiles = is_layer and kernels is not None and kernels.tiles
        narrow = copy_for_products(narrow, memory, tiles=tiles, dtype=narrow.dtype)
        made = NarrowLinear(narrow) if is_layer else RowEmbedding(narrow, torch.float32, _scale(owner))
        model.set_submodule(module, made)
    elif kernels is None or tensor.type not in _PACKINGS or not isinstance(owner, nn.Linear | nn.Embedding):
        values = log_of_negative(dequantize(tensor), tensor.name) if kind == "A_log" else dequantize(tensor)
        values = _in_input_order(values, order).view(getattr(owner, kind).shape)
        setattr(owner, kind, values if kind in owner._buffers else nn.Parameter(values, requires_grad=False))
    else:
        blocks = torch.from_numpy(tensor.blocks.copy())
        is_fine = finely or module.endswith(FINE)
        shape = len(tensor.blocks), tensor.shape[-1]
        weight = PackedWeight(kernels, Packing(tensor.type), blocks, shape, is_fine=is_fine, memory=memory)
        is_layer = type(owner) is nn.Linear
        packed = PackedLinear(weight, order=order) if is_layer else PackedEmbedding(weight, _scale(owner))
        model.set_submodule(module, packed)


def put_experts(
    model: Any, module: str, file: GgufFile, kernels: NativeKernels | None, memory: WeightMemory, *, finely: bool
) -> set[str]:
    """Replace transformers' module of a layer's experts by one with the file's tensors; returns their names."""
    experts: Any = model.get_submodule(module)
    count, width, inner = experts.down_proj.shape
    used, layer = set(), module.split(".")[2]

    def weight_of(part: str, outputs: int, inputs: int) -> PackedWeight | torch.Tensor:
        tensor = find_tensor(file, f"blk.{layer}.ffn_{part}_exps.weight", (count, outputs, inputs))
        used.add(tensor.name)
        if kernels is not None and tensor.type in _PACKINGS and not outputs % GROUP:
            blocks, shape = torch.from_numpy(tensor.blocks.copy()), (count * outputs, inputs)
            return PackedWeight(kernels, Packing(tensor.type), blocks, shape, is_fine=finely, memory=memory)
        return _in_16_bits(tensor) if tensor.type in _NARROW else dequantize(tensor).view(-1, inputs)

    if f"blk.{layer}.ffn_gate_up_exps.weight" in file.tensors:
        both = weight_of("gate_up", 2 * inner, width)
        gate, up = (ExpertWeights(both, inner, first, 2 * inner) for first in (0, inner))
    else:
        gate, up = (ExpertWeights(weight_of(part, inner, width), inner, 0, inner) for part in ("gate", "up"))
    down = ExpertWeights(weight_of("down", width, inner), width, 0, width)
    model.set_submodule(module, FileExperts(count, gate, up, down, experts.act_fn))
    file.release()
    return used


@np.errstate(over="ignore", invalid="ignore")  # told once all numbers are there
def dequantize(tensor: GgufTensor) -> torch.Tensor:
    """Return a tensor's numbers as float32, of its shape. Raises GgufError if they cannot be, or are not finite."""
    if tensor.type == TensorType.F32:
        return torch.from_numpy(tensor.blocks.copy()).view(torch.float32).view(tensor.shape)
    from gguf import GGMLQuantizationType, quants  # this import takes longer than reading a model's norms

    unpacked = torch.empty(tensor.shape, dtype=torch.float32)
    rows = unpacked.view(-1, tensor.shape[-1]).numpy()
    at_once = max(1, _BYTES_AT_ONCE // tensor.blocks.shape[1])
    for start in range(0, len(rows), at_once):
        some = tensor.blocks[start : start + at_once]
        try:
            rows[start : start + at_once] = quants.dequantize(some, GGMLQuantizationType(int(tensor.type)))
        except NotImplementedError:
            told = f"tensor {quoted(tensor.name)} is of the type {tensor.type.name}, which is not supported"
            raise GgufError(told) from None
    if not tensor.type.is_float and not tensor.type.scale_offsets and not unpacked.isfinite().all():
        raise GgufError(f"tensor {quoted(tensor.name)} holds numbers that are not finite")  # that no scale tells of
    return unpacked


def _in_16_bits(tensor: GgufTensor) -> torch.Tensor:
    """Return a tensor's bfloat16 or float16 numbers, shape (rows, in)."""
    return torch.from_numpy(tensor.blocks.copy()).view(_NARROW[tensor.type])


def _in_input_order(weight: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """Return a weight with its columns in the order of its inputs."""
    return weight if order is None else torch.empty_like(weight).index_copy_(1, order, weight)


def _scale(embedding: Any) -> float:
    """Return the factor by which an embedding multiplies its rows."""
    return float(getattr(embedding, "embed_scale", 1.0))
