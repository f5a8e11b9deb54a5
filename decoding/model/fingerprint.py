"""Fingerprint: sums over the contents of tensors, for edits that PyTorch's version counter misses.

The counter misses edits through ``.data`` and in inference mode, so every bit of a tensor is read, as integers that
are summed along wrapped diagonals. A sum changes if one element changes, and if rows or columns are exchanged, which
moves elements to other diagonals. It is bound by memory bandwidth and takes less than a step of plain decoding, which
reads the same weights and multiplies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import torch

MAX_SUMMANDS = 256
"""Elements in one sum; a fingerprint is this much smaller than the tensors."""
MIN_ROW = 32
"""Tensors with shorter rows are summed as if their rows had `DEFAULT_ROW` elements."""
DEFAULT_ROW = 520
SMALL_BYTES = 4096
"""Smaller tensors are kept whole."""
_INTEGERS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}


@dataclass(frozen=True)
class Fingerprint:
    """The contents of some tensors.

    Attributes:
        contents: by device, shape (n,), int64.
        places: for each tensor in order, its device and the range of its part there, from first to end.
    """

    contents: Mapping[torch.device, torch.Tensor]
    places: Sequence[tuple[torch.device, int, int]]

    def differences(self, other: Fingerprint) -> set[int]:
        """Return the indices of tensors that differ, of two fingerprints of equally many tensors."""
        if self.places == other.places and all(
            torch.equal(contents, other.contents[device]) for device, contents in self.contents.items()
        ):
            return set()
        return {
            index
            for index, (place, other_place) in enumerate(zip(self.places, other.places, strict=True))
            if place != other_place or not torch.equal(self._part(index), other._part(index))
        }

    def _part(self, index: int) -> torch.Tensor:
        device, first, end = self.places[index]
        return self.contents[device][first:end]


@torch.inference_mode()
def fingerprint_of(tensors: Sequence[torch.Tensor]) -> Fingerprint:
    """Return the fingerprint of some tensors; those without readable memory (``meta``, sparse) are left out."""
    parts: dict[torch.device, list[torch.Tensor]] = {}
    lengths: dict[torch.device, int] = {}
    places = []
    for tensor in tensors:
        device = tensor.device
        first = end = lengths.get(device, 0)
        if has_contents(tensor):
            for part in _sums_and_rest(tensor):
                parts.setdefault(device, []).append(part)
                end += len(part)
        lengths[device] = end
        places.append((device, first, end))
    return Fingerprint({device: torch.cat(of_device) for device, of_device in parts.items()}, places)


def _sums_and_rest(tensor: torch.Tensor) -> list[torch.Tensor]:
    """Return sums over a tensor's bits, and the remaining bits, each of shape (n,) and int64."""
    tensor = tensor if tensor.is_contiguous() else tensor.contiguous()
    offset, size = tensor.storage_offset(), tensor.element_size()
    row = tensor.shape[-1] * size if tensor.dim() > 1 else 0
    grid = _grid(tensor.numel() * size, row, offset * size)
    bits = (tensor if row % grid.width == 0 and row else tensor.view(-1)).view(_INTEGERS[grid.width])
    first = bits.storage_offset()
    rest = bits.as_strided((grid.rest,), (1,), first + grid.summed)
    rest = rest if grid.width == 8 else rest.to(torch.int64)
    if not grid.blocks:
        return [rest]
    return [bits.as_strided(grid.shape, grid.strides, first).sum(1).view(-1), rest]


@dataclass(frozen=True, slots=True)
class _Grid:
    """The layout in which bits are read: integers ``width`` bytes wide in blocks of rows, the rest one by one."""

    width: int
    blocks: int
    rows: int
    columns: int
    rest: int

    @property
    def summed(self) -> int:
        return self.blocks * self.rows * self.columns

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.blocks, self.rows, self.columns

    @property
    def strides(self) -> tuple[int, int, int]:
        return self.rows * self.columns, self.columns, 1


@lru_cache(maxsize=4096)
def _grid(nbytes: int, row_bytes: int, offset_bytes: int) -> _Grid:
    # As wide as the tensor's length and alignment allow.
    width = gcd(8, nbytes, offset_bytes)
    row = row_bytes // width
    # Read as a matrix whose rows are one longer, columns are the diagonals.
    row = row if row >= MIN_ROW else DEFAULT_ROW
    columns, length = row + 1, nbytes // width
    rows = length // columns
    if nbytes <= SMALL_BYTES or rows < 2:
        return _Grid(width, 0, 1, 1, length)
    # No block is longer than a row, so that integers a multiple of the columns apart are in different blocks.
    blocks = -(-rows // min(row, MAX_SUMMANDS))
    rows //= blocks
    return _Grid(width, blocks, rows, columns, length - blocks * rows * columns)


def has_contents(tensor: torch.Tensor) -> bool:
    """Return True if the tensor's memory can be read."""
    return tensor.layout is torch.strided and tensor.device.type != "meta" and tensor.numel() > 0
