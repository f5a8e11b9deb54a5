"""Types of a GGUF file's tensors, by ggml's numbers, and the names of whole files' quantisations."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Self


class TensorType(IntEnum):
    """A storage type of tensors: blocks of ``block_size`` numbers in ``block_bytes`` bytes."""

    block_size: int
    block_bytes: int
    scale_offsets: tuple[int, ...]
    """Offsets of a block's half-precision scales and minima."""

    def __new__(cls, number: int, block_size: int, block_bytes: int, *scale_offsets: int) -> Self:
        member = int.__new__(cls, number)
        member._value_ = number
        member.block_size, member.block_bytes, member.scale_offsets = block_size, block_bytes, scale_offsets
        return member

    F32 = 0, 1, 4
    F16 = 1, 1, 2
    Q4_0 = 2, 32, 18, 0
    Q4_1 = 3, 32, 20, 0, 2
    Q5_0 = 6, 32, 22, 0
    Q5_1 = 7, 32, 24, 0, 2
    Q8_0 = 8, 32, 34, 0
    Q8_1 = 9, 32, 40
    Q2_K = 10, 256, 84, 80, 82
    Q3_K = 11, 256, 110, 108
    Q4_K = 12, 256, 144, 0, 2
    Q5_K = 13, 256, 176, 0, 2
    Q6_K = 14, 256, 210, 208
    Q8_K = 15, 256, 292
    IQ2_XXS = 16, 256, 66, 0
    IQ2_XS = 17, 256, 74, 0
    IQ3_XXS = 18, 256, 98, 0
    IQ1_S = 19, 256, 50, 0
    IQ4_NL = 20, 32, 18, 0
    IQ3_S = 21, 256, 110, 0
    IQ2_S = 22, 256, 82, 0
    IQ4_XS = 23, 256, 136, 0
    I8 = 24, 1, 1
    I16 = 25, 1, 2
    I32 = 26, 1, 4
    I64 = 27, 1, 8
    F64 = 28, 1, 8
    IQ1_M = 29, 256, 56
    BF16 = 30, 1, 2
    TQ1_0 = 34, 256, 54, 52
    TQ2_0 = 35, 256, 66, 64
    MXFP4 = 39, 32, 17
    NVFP4 = 40, 64, 36
    Q1_0 = 41, 128, 18, 0

    @property
    def is_float(self) -> bool:
        """True if numbers are stored one by one as floating point."""
        return self in (TensorType.F32, TensorType.F16, TensorType.BF16, TensorType.F64)


TENSOR_TYPES: Mapping[int, TensorType] = {int(kind): kind for kind in TensorType}
"""By ggml's numbers."""
