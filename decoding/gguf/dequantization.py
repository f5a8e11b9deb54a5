"""Dequantization: a tensor's blocks unpacked to float32; the kernels in C unpack others as they multiply."""

from __future__ import annotations

import torch

from decoding.gguf.file import GgufTensor
from decoding.gguf.tensor_types import TensorType

_BYTES_AT_ONCE = 1 << 24


def dequantize(tensor: GgufTensor) -> torch.Tensor:
    """Return a tensor's numbers as float32, of its shape."""
    if tensor.type == TensorType.F32:
        return torch.from_numpy(tensor.blocks.copy()).view(torch.float32).view(tensor.shape)
    from gguf import GGMLQuantizationType, quants  # this import takes longer than reading a model's norms

    unpacked = torch.empty(tensor.shape, dtype=torch.float32)
    rows = unpacked.view(-1, tensor.shape[-1]).numpy()
    at_once = max(1, _BYTES_AT_ONCE // tensor.blocks.shape[1])
    for start in range(0, len(rows), at_once):
        some = tensor.blocks[start : start + at_once]
        rows[start : start + at_once] = quants.dequantize(some, GGMLQuantizationType(int(tensor.type)))
    return unpacked
