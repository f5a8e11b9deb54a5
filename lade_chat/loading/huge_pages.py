"""WeightCopies: a model's weights in huge pages, copied while nobody waits.

Every step reads all weights. Those of a mapped file lie in small pages, and translating their addresses takes up to a
tenth of a step at 1B parameters. To take so much memory from the system can last seconds: not before a first reply.
"""

from __future__ import annotations

import mmap
from ctypes import addressof, c_char, memmove
from threading import Thread
from typing import Any

import psutil

from lade_chat.loading.weights import release_mapped_weights

MIN_BYTES = 64_000_000
"""Weights smaller than this are in few pages as it is."""
MAX_SHARE = 0.7
"""The share of the free memory to use: what is mapped can be dropped and read again, copies cannot."""
COPIED_AT_ONCE = 256_000_000
"""Bytes copied before the memory that they were read into is given back."""
_PAGE = 2 << 20
_ALIGNMENT = 64


class WeightCopies:
    """Copies of the weights of a model whose steps run in C, made by a thread; none where there are no huge pages."""

    def __init__(self, model: Any) -> None:
        from decoding import native_support, packed_weight_bytes

        self._model, self._thread = model, Thread(target=self._copy, name="copying weights", daemon=True)
        # Each weight, and where its copy lies behind the first.
        self._places, self._bytes, self._complete = dict[Any, int](), 0, False
        for weight in model.parameters():
            if weight.device.type == "cpu":
                self._places[weight] = self._bytes
                self._bytes += -(-weight.nbytes // _ALIGNMENT) * _ALIGNMENT
        fits = MIN_BYTES <= self._bytes <= MAX_SHARE * psutil.virtual_memory().available
        in_place = native_support(model).supported and not packed_weight_bytes(model)
        self._wanted = fits and in_place and hasattr(mmap, "MADV_HUGEPAGE")

    def begin(self) -> None:
        """Begin to copy, once; where the system refuses the memory, the weights stay where they are."""
        if not self._wanted or self._thread.ident is not None:
            return
        try:
            self._memory = mmap.mmap(-1, self._bytes + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        except OSError:
            self.cancel()
            return
        self._address = addressof(c_char.from_buffer(self._memory))
        self._first = -self._address % _PAGE
        self._thread.start()

    def cancel(self) -> None:
        """Leave the weights where they are."""
        self._wanted = False
        self._places = {}

    def settle(self, *, wait: bool = False) -> None:
        """Put the copies in the weights' place if they are complete. Only between texts.

        Args:
            wait: wait until they are.
        """
        if wait and self._thread.ident is not None:
            self._thread.join()
        if not self._wanted or not self._complete:
            return
        import torch

        from decoding import relocate_weights

        copies = {}
        for weight, at in self._places.items():
            place = self._first + at
            flat = torch.frombuffer(self._memory, dtype=weight.dtype, count=weight.numel(), offset=place)
            copies[weight] = flat.view(weight.shape)
        relocate_weights(self._model, copies)
        self.cancel()
        release_mapped_weights()

    def _copy(self) -> None:
        copied = 0
        for weight, at in self._places.items():
            if not self._wanted:
                return
            memmove(self._address + self._first + at, weight.data_ptr(), weight.nbytes)
            copied += weight.nbytes
            if copied > COPIED_AT_ONCE:
                release_mapped_weights()
                copied = 0
        self._complete = True
