"""Random blocks of every quantised type that is multiplied packed, and the values that they mean."""

from __future__ import annotations

import gguf
import numpy as np
import torch

from decoding.native.kernels import native_kernels
from decoding.native.packed_weight import PackedWeight, Packing

_HALVES = {
    Packing.Q4_0: (0,), Packing.Q4_1: (0, 2), Packing.Q5_0: (0,), Packing.Q5_1: (0, 2), Packing.Q8_0: (0,),
    Packing.Q2_K: (80, 82), Packing.Q3_K: (108,), Packing.Q4_K: (0, 2), Packing.Q5_K: (0, 2), Packing.Q6_K: (208,),
    Packing.IQ4_NL: (0,), Packing.IQ4_XS: (0,),
}  # fmt: skip
"""Where a block has scales as half-precision numbers, in bytes."""


def random_blocks(packing: Packing, shape: tuple[int, int], seed: int = 0) -> torch.Tensor:
    """Return blocks of a weight of this shape, uint8, (out, bytes of a row): any bits but for finite scales."""
    generator = np.random.default_rng(seed)
    inputs, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType(packing)]
    blocks = generator.integers(0, 256, (shape[0], shape[1] // inputs, size), dtype=np.uint8)
    for at in _HALVES[packing]:
        scales = (generator.standard_normal(blocks.shape[:2]) / 100).astype(np.float16)
        blocks[..., at : at + 2] = scales[..., None].view(np.uint8)
    return torch.from_numpy(blocks.reshape(shape[0], -1))


def values(packing: Packing, blocks: torch.Tensor) -> torch.Tensor:
    """Return the numbers that blocks mean, float32, as the ``gguf`` package has them."""
    return torch.from_numpy(gguf.quants.dequantize(blocks.numpy(), gguf.GGMLQuantizationType(packing)))


def packed(packing: Packing, blocks: torch.Tensor, shape: tuple[int, int]) -> PackedWeight:
    kernels = native_kernels()
    assert kernels is not None
    return PackedWeight(kernels, packing, blocks, shape)
