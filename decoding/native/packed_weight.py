"""PackedWeight: a quantised weight of a GGUF file, laid out as the C kernels multiply it."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref
from enum import IntEnum

import torch

from decoding.native.kernels import NativeKernels, integers
from decoding.native.structures import Linear
from decoding.native.weight_memory import WeightMemory

GROUP = 16
"""The outputs that are laid out together."""


class Packing(IntEnum):
    """A quantised type of GGUF files, as ggml numbers it (``ggml.h``)."""

    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    IQ4_NL = 20
    IQ4_XS = 23

    @property
    def inputs(self) -> int:
        """The number of elements in a block of a file."""
        return 256 if self.name.endswith(("_K", "_XS")) else 32


class PackedWeight:
    """A weight of shape (out, in) in groups of 16 outputs (``c/packed_formats.h``): the file's numbers, bit for bit.

    Attributes:
        groups: the laid out bytes, uint8; at most 5 % more than the file has.
        is_fine: products round rows to 16 bits, which takes twice the arithmetic, and not to 8.
    """

    def __init__(
        self,
        kernels: NativeKernels,
        packing: Packing,
        blocks: torch.Tensor,
        shape: tuple[int, int],
        *,
        is_fine: bool = False,
        memory: WeightMemory | None = None,
    ) -> None:
        """
        Args:
            blocks: the file's bytes, uint8, contiguous: blocks along a row, row after row.
            shape: (out, in).
            is_fine: see the attribute.
            memory: where to take room for the groups, as for the model's other weights; None for some of its own.

        Raises:
            ValueError: the blocks do not have this shape, or a scale is infinite or not a number.
        """
        self.packing, self.shape, self.is_fine = packing, shape, is_fine
        self._kernels = kernels
        out_features, in_features = shape
        size = kernels.library.packed_bytes(packing, out_features, in_features)
        if not size:
            blocks_of = f"{packing.name}'s blocks of {packing.inputs}"
            raise ValueError(f"rows of {in_features} numbers are not divided by {blocks_of}")
        self.groups = (memory or WeightMemory()).take(size)
        threads = torch.get_num_threads()
        if not kernels.library.repack(packing, blocks.data_ptr(), *shape, self.groups.data_ptr(), threads):
            raise ValueError("a scale of a quantised weight is infinite or not a number: the file is damaged")

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return self.groups.nbytes

    def structure(self, bias: torch.Tensor | None = None, outputs: tuple[int, int] | None = None) -> Linear:
        """Return the addresses of the weight and a bias, shape (out,), which the caller must keep alive.

        Args:
            outputs: the first one and the one behind the last, multiples of 16; None for all.
        """
        first, end = outputs or (0, self.shape[0])
        address = self.groups.data_ptr() + first * self.nbytes // self.shape[0]
        of_bias = None if bias is None else bias.data_ptr()
        return Linear(address, None, of_bias, end - first, self.shape[1], packing=self.packing, is_fine=self.is_fine)

    def product(
        self, rows: torch.Tensor, bias: torch.Tensor | None = None, outputs: tuple[int, int] | None = None
    ) -> torch.Tensor:
        """Return rows Wᵀ + b, shape (…, out); the rows, shape (…, in), are rounded by blocks of 32.

        Args:
            outputs: see :meth:`structure`.

        Raises:
            MemoryError: there is not enough memory to round the rows.
        """
        return self._kernels.multiply(rows, self.structure(bias, outputs))

    def rows(self, indices: Sequence[int], width: int | None = None) -> torch.Tensor:
        """Return rows of the weight, float32, shape (len(indices), width).

        Args:
            width: the number of columns, the first ones; a multiple of 32. None for all.

        Raises:
            IndexError: there is no such row.
        """
        width, count = self.shape[1] if width is None else width, len(indices)
        rows = torch.empty(count, width)
        if not self._kernels.library.unpack_rows(
            byref(self.structure()), integers(indices), count, width, rows.data_ptr()
        ):
            raise IndexError(f"among the rows {[*indices]} is one that a weight of {self.shape[0]} rows does not have")
        return rows
