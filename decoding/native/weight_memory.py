"""WeightMemory: room for the packed weights of a model, in huge pages where the system has them."""

from __future__ import annotations

import mmap

import torch

ALIGNMENT = 64
"""Bytes: the length of a cache line, and of the widest vector."""
_AT_ONCE = 64 << 20
"""Bytes asked for at a time. Those that no weight is written to take no memory."""
_PAGE = 2 << 20
"""Bytes of a huge page."""


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
