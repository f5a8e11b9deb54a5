"""WeightMemory: room for the weights of a model, in huge pages where the system has them; and tile order.

In tile order weights are laid out as products by matrix tiles (AMX) read them, one byte after the other: those reach a
fifth more of the memory's bandwidth than where they read 32 rows side by side.
"""

from __future__ import annotations

import mmap
from typing import Any

import torch

ALIGNMENT = 64
"""Bytes: the length of a cache line, and of the widest vector."""
_AT_ONCE = 64 << 20
"""Bytes asked for at a time. Those that no weight is written to take no memory."""
_PAGE = 2 << 20
"""Bytes of a huge page."""
SIDE = 32
"""The outputs and the inputs that stand together."""
LARGE = 32_000_000
"""Parameters that no cache near a processor holds. Tile order speeds up reading them, and slows down reading fewer."""


class WeightMemory:
    """Room for the weights of one model, side by side.

    Every step reads all weights: in small pages, translating their addresses takes up to a sixth of a step. One weight
    alone may be smaller than a huge page, so they share some.
    """

    def __init__(self) -> None:
        self._free = torch.empty(0, dtype=torch.uint8)

    def take(self, size: int) -> torch.Tensor:
        """Return room for so many bytes, uint8, shape (size,), aligned to :data:`ALIGNMENT`; its content is not set."""
        whole = -(-size // ALIGNMENT) * ALIGNMENT
        if whole > len(self._free):
            self._free = _memory(whole)
        taken, self._free = self._free[:size], self._free[whole:]
        return taken


def _memory(size: int) -> torch.Tensor:
    """Return at least so much memory, in huge pages if the system has them and grants them."""
    memory, alignment = torch.empty(0, dtype=torch.uint8), _PAGE
    if hasattr(mmap, "MADV_HUGEPAGE"):
        try:
            mapped = mmap.mmap(-1, max(size, _AT_ONCE) + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            mapped.madvise(mmap.MADV_HUGEPAGE)
            memory = torch.frombuffer(mapped, dtype=torch.uint8)
        except OSError:  # refused: there is less memory than that, or a kernel without such pages
            pass
    if not len(memory):
        memory, alignment = torch.empty(size + ALIGNMENT, dtype=torch.uint8), ALIGNMENT
    return memory[-memory.data_ptr() % alignment :]


def copy_for_products(
    weight: torch.Tensor, memory: WeightMemory, *, tiles: bool, dtype: torch.dtype = torch.bfloat16
) -> torch.Tensor:
    """Return a copy of a weight, shape (out, in).

    Args:
        tiles: return bfloat16 in tile order, shape (out / 32, in / 32, 32, 32), if both sizes are multiples of 32.
        dtype: of the copy.
    """
    if tiles and dtype == torch.bfloat16 and not any(size % SIDE for size in weight.shape):
        weight = weight.unflatten(1, (-1, SIDE)).unflatten(0, (-1, SIDE)).transpose(1, 2)
    room = memory.take(weight.numel() * dtype.itemsize)
    return room.view(dtype).view(weight.shape).copy_(weight)


def is_in_tile_order(weight: torch.Tensor) -> bool:
    """Return True if a weight is in tile order."""
    return weight.dim() == 4


def shape_of(weight: Any) -> tuple[int, ...]:
    """Return the shape of a weight, of one in tile order that which it has in rows."""
    shape = tuple(weight.shape)
    return (shape[0] * SIDE, shape[1] * SIDE) if len(shape) == 4 else shape


def rows_of(weight: torch.Tensor) -> torch.Tensor:
    """Return a weight of either order in rows, shape (out, in)."""
    return weight.transpose(1, 2).reshape(shape_of(weight)) if is_in_tile_order(weight) else weight
