"""NativePrefix: the prefix of a model whose forward passes run in C, each in one call from here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array, c_int64
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from decoding.model.capabilities import ModelCapabilities
from decoding.model.kv_cache import KVCache
from decoding.model.linear_kernels import is_changed_globally
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.native.kernels import integers
from decoding.native.ranked_rows import RankedRows
from decoding.native.structures import Transformer
from decoding.native_forward.model_structures import NativeForward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_TOKENS = 1024
"""A text is read in parts of so many tokens, since a part's mask has their square."""


class NativePrefix(KVPrefix):
    """The prefix of a model whose forward passes run in C; while PyTorch runs hooks or autocast, in transformers."""

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        forward: Callable[[], NativeForward | None],
        cache: KVCache | None = None,
    ) -> None:
        """
        Args:
            forward: called at every step; returns the up-to-date forward pass in C, or None if there is none.
        """
        super().__init__(model, capabilities, cache)
        self._forward_in_c = forward
        # The cached result of _bind: forward pass, first key buffer, its capacity in tokens, and the C structure.
        self._bound: tuple[NativeForward, torch.Tensor, int, Transformer] | None = None
        self._rows: RankedRows | None = None

    @property
    def length(self) -> int:
        layers = self.cache.layers
        return layers[0].length if layers else 0  # all layers are alike here

    @property
    def is_batch_invariant(self) -> bool:  # type: ignore[override]  # a constant in the base class
        return self._forward_in_c() is not None

    def copy(self) -> NativePrefix:
        return NativePrefix(self._model, self._capabilities, self._forward_in_c, self.cache.copy())

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        count, forward, length = len(token_ids), self._forward_in_c(), self.length
        if count > MAX_TOKENS:
            try:
                self.next_logits(token_ids[:MAX_TOKENS])
                return self.next_logits(token_ids[MAX_TOKENS:])
            except BaseException:
                self.rewind(length)
                raise
        if forward is not None and count:  # the rows read are not checked in C
            logits = self._logits(forward, 1)
            if self._run_in_c(forward, token_ids, *causal_inputs(count), logits):
                return logits.row(0)
        return super().next_logits(token_ids)

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        forward = self._forward_in_c()
        if forward is not None:
            depths, read = integers(inputs.depths), integers(inputs.logit_rows)
            logits = self._logits(forward, len(read))
            if self._run_in_c(forward, inputs.token_ids, inputs.mask, depths, read, logits):
                return logits.first(len(read))
        return super().branch_logits(inputs)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        in_place, rising = offsets[-1] == len(offsets) - 1, all(a < b for a, b in pairwise(offsets))
        forward = self._forward_in_c() if rising and not in_place else None
        if forward is None:
            super().keep(base, offsets)
            return
        # Rising offsets: no token is overwritten before it has been moved.
        places = [base + offset for offset in offsets]
        forward.kernels.move_tokens(self._bind(forward, self.length), places, base)
        self.cache.rewind(base + len(offsets))

    def _logits(self, forward: NativeForward, rows: int) -> RankedRows:
        """Return memory for the logits of a step, the last one's if it has room."""
        logits = self._rows
        if logits is None or not logits.fits(rows, forward.vocabulary, forward.dtype):
            room = rows if logits is None else max(rows, 2 * logits.room)
            logits = self._rows = RankedRows(room, forward.vocabulary, forward.dtype)
        return logits

    def _with_kernels(self, rows: int) -> torch.nn.Module:
        return self._model  # a forward pass that is not run in C is transformers' own

    def _run_in_c(
        self,
        forward: NativeForward,
        token_ids: Sequence[int],
        visible: bytes,
        depths: Array[c_int64],
        read: Array[c_int64],
        logits: RankedRows,
    ) -> bool:
        """Run a step in C, which writes its logits; return False if it has to run in transformers."""
        if is_changed_globally():
            return False
        if not self.cache.layers:
            self.cache.begin(forward.empty_states())
        cached = self.length
        length = cached + len(token_ids)
        transformer, embedded = self._bind(forward, length), forward.embedded(token_ids)
        forward.prepare(transformer, length)
        inputs = forward.layer_inputs(token_ids)
        transformer.inputs = None if inputs is None else inputs.data_ptr()
        forward.kernels.step(transformer, token_ids, embedded, cached, visible, depths, read, logits)
        self.cache.hold(length)
        return True

    def _bind(self, forward: NativeForward, tokens: int) -> Transformer:
        """Return the C structure of the model and its cache, after growing the cache to so many tokens."""
        bound = self._bound
        # All layers grow at once, so the first one's buffer tells if any has moved.
        if bound and tokens <= bound[2] and bound[0] is forward and self.cache.layers[0].is_in(bound[1]):
            return bound[3]
        buffers = [layer.reserve(tokens, forward.cache_dtype) for layer in self.cache.layers]
        layers = forward.layers([(keys.data_ptr(), values.data_ptr()) for keys, values in buffers])
        first, _ = self.cache.layers[0].reserve(tokens)
        room = first.shape[-2]
        transformer = forward.transformer(layers, room)
        self._bound = forward, first, room, transformer
        return transformer


@lru_cache(maxsize=4)
def causal_inputs(count: int) -> tuple[bytes, Array[c_int64], Array[c_int64]]:
    """Return causal inputs over so many tokens: mask, positions, and the last row's index."""
    return np.tri(count, dtype=np.bool_).tobytes(), integers(range(count)), integers([count - 1])
