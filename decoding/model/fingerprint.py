"""Fingerprint: the contents of tensors in little, by which any change of them is noticed.

PyTorch counts the changes made to a tensor in place, but none of those made through ``.data`` or in inference mode, so
all of a tensor is read: its bits, as integers, summed up along wrapped diagonals. No change of one element goes by, and
none that moves elements about, as an exchange of rows or of columns does, since that moves them to other diagonals.
It is done as fast as memory is read, for less than a step of plain decoding, which reads the same and multiplies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import torch

MAX_SUMMANDS = 256
"""Elements that one sum is taken over, so that a fingerprint is this much smaller than the tensors."""
MIN_ROW = 32
"""Shorter rows are not told apart: the diagonals are those of a matrix whose rows are `USUAL_ROW` long."""
USUAL_ROW = 520
SMALL_BYTES = 4096
"""Tensors of so few bytes are kept whole."""
_INTEGERS = {8: torch.int64, 4: torch.int32, 2: torch.int16, 1: torch.uint8}


@dataclass(frozen=True)
class Fingerprint:
    """The contents of some tensors.

    Attributes:
        contents: by device, shape (n,), int64.
        places: where each tensor's part lies, in order: its device, the first index and the one behind the last.
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
    """Read some tensors. Those that have no contents of their own (on ``meta``, sparse) count for nothing."""
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
    """Return sums over a tensor's bits, and the bits that are left over, each of shape (n,) and int64."""
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
    """How a tensor's bits are read: as integers ``width`` bytes wide, in blocks of rows, and the rest one by one."""

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
    # As wide as the tensor's length and its place in memory allow.
    width = gcd(8, nbytes, offset_bytes)
    row = row_bytes // width
    # Read as a matrix whose rows are one longer, columns are the diagonals.
    row = row if row >= MIN_ROW else USUAL_ROW
    columns, length = row + 1, nbytes // width
    rows = length // columns
    if nbytes <= SMALL_BYTES or rows < 2:
        return _Grid(width, 0, 1, 1, length)
    # In blocks no longer than a row, so that integers a whole number of columns apart are in different ones.
    blocks = -(-rows // min(row, MAX_SUMMANDS))
    rows //= blocks
    return _Grid(width, blocks, rows, columns, length - blocks * rows * columns)


def has_contents(tensor: torch.Tensor) -> bool:
    """Return whether a tensor is one whose memory can be read."""
    return tensor.layout is torch.strided and tensor.device.type != "meta" and tensor.numel() > 0
