"""The prefix of a model whose forward passes run in C: NativePrefix, and HybridPrefix for one with recurrent states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array, c_int64
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from decoding.model.cache import KVCache
from decoding.model.capabilities import ModelCapabilities
from decoding.model.inputs import StepInputs
from decoding.model.linear_kernels import is_changed_globally
from decoding.model.prefix import KVPrefix
from decoding.native.kernels import integers
from decoding.native.structures import Transformer
from decoding.native_forward.forward import NativeForward
from decoding.native_forward.recurrence import RecurrentStates

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel

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

    @property
    def length(self) -> int:
        layers = self.cache.layers
        return layers[0].length if layers else 0  # all layers are alike here

    @property
    def is_batch_invariant(self) -> bool:
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
            logits = torch.empty(forward.vocabulary, dtype=forward.dtype)
            if self._run_in_c(forward, token_ids, *causal_inputs(count), logits):
                return logits
        return super().next_logits(token_ids)

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        forward = self._forward_in_c()
        if forward is not None:
            depths, read = integers(inputs.depths), integers(inputs.logit_rows)
            logits = torch.empty((len(read), forward.vocabulary), dtype=forward.dtype)
            if self._run_in_c(forward, inputs.token_ids, inputs.mask, depths, read, logits):
                return logits
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

    def _with_kernels(self, rows: int) -> torch.nn.Module:
        return self._model  # a forward pass that is not run in C is transformers' own

    def _run_in_c(
        self,
        forward: NativeForward,
        token_ids: Sequence[int],
        visible: bytes,
        depths: Array[c_int64],
        read: Array[c_int64],
        logits: torch.Tensor,
    ) -> bool:
        """Run a step in C, which writes its logits; return False if it has to run in transformers."""
        if is_changed_globally():
            return False
        if not self.cache.layers:
            self.cache.begin(forward.empty_states(), forward.cached_layers)
        cached = self.length
        length = cached + len(token_ids)
        transformer, embedded = self._bind(forward, length), forward.embedded(token_ids)
        tables = forward.prepare(transformer, length)
        forward.kernels.step(transformer, token_ids, embedded, cached, visible, depths, read, logits)
        del tables  # C has read them to the end
        for layer in self.cache.layers:
            layer.resize(length)
        return True

    def _bind(self, forward: NativeForward, tokens: int) -> Transformer:
        """Return the C structure of the model and its cache, after growing the cache to so many tokens."""
        bound = self._bound
        # All layers grow at once, so the first one's buffer tells if any has moved.
        if bound and tokens <= bound[2] and bound[0] is forward and self.cache.layers[0].is_in(bound[1]):
            return bound[3]
        layers = forward.layers()
        with_cache = (layer for layer in layers if not layer.recurrence.mixing)
        for layer, buffers in zip(with_cache, self.cache.layers, strict=True):
            keys, values = buffers.reserve(tokens, forward.cache_dtype)
            layer.keys, layer.values = keys.data_ptr(), values.data_ptr()
        first, _ = self.cache.layers[0].reserve(tokens)
        room = first.shape[-2]
        transformer = forward.transformer(layers, room)
        self._bound = forward, first, room, transformer
        return transformer


@lru_cache(maxsize=4)
def causal_inputs(count: int) -> tuple[bytes, Array[c_int64], Array[c_int64]]:
    """Return causal inputs over so many tokens: mask, positions, and the last row's index."""
    return np.tri(count, dtype=np.bool_).tobytes(), integers(range(count)), integers([count - 1])


class HybridPrefix(NativePrefix):
    """Keys and values, and recurrent states beside them. All forward passes run in C, long ones in parts.

    Where the model changes in the middle of a text, so that its steps no longer run in C, transformers reads the text
    again, and goes on.
    """

    one_chain = True

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        forward: Callable[[], NativeForward | None],
        new_fallback: Callable[[], KVPrefix],
    ) -> None:
        """
        Args:
            forward: as for :class:`NativePrefix`.
            new_fallback: returns an empty prefix of the model in transformers.
        """
        super().__init__(model, capabilities, forward)
        self._new_fallback = new_fallback
        self._fallback: KVPrefix | None = None
        self._states: RecurrentStates | None = None
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def rereads(self) -> int:  # type: ignore[override]  # a constant in the base class
        return 0 if self._fallback is None else self._fallback.rereads

    @property
    def cuts_back(self) -> bool:  # type: ignore[override]
        return self._fallback is None or self._fallback.cuts_back

    def rewindable_to(self, length: int) -> int:
        if self._fallback is not None:
            return self._fallback.rewindable_to(length)
        return self._states.rewindable_to(length) if self._states else 0

    def rewind(self, length: int) -> None:
        reached = self.rewindable_to(length)
        if self._fallback is not None:
            self._fallback.rewind(length)
        self._forget(reached)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        if self._fallback is not None:
            self._fallback.keep(base, offsets)
        self._forget(base + len(offsets))

    def copy(self) -> HybridPrefix:
        other = HybridPrefix(self._model, self._capabilities, self._forward_in_c, self._new_fallback)
        other.cache, other._tokens = self.cache.copy(), self._tokens.copy()
        other._states = self._states and self._states.copy()
        other._fallback = self._fallback and self._fallback.copy()
        return other

    def fill(self, empty: Cache) -> bool:
        return False

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        forward, start = self._up_to_date(), self.length
        if forward is None:
            logits = self._in_transformers().next_logits(token_ids)
        else:
            logits = self._read(forward, token_ids, [len(token_ids) - 1])[0]
            if len(token_ids) > 1 and self._states:
                self._states.keep(start)
        self._tokens += token_ids
        return logits

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        assert inputs.depths == [*range(len(inputs))], "a recurrent state takes one chain of candidates and no window"
        forward = self._up_to_date()
        if forward is None:
            logits = self._in_transformers().branch_logits(inputs)
        else:
            logits = self._read(forward, inputs.token_ids, inputs.logit_rows, undone=True)
        self._tokens += inputs.token_ids
        return logits

    def _up_to_date(self) -> NativeForward | None:
        forward = None if is_changed_globally() else self._forward_in_c()
        if forward is not None:
            self._fallback = None
        return forward

    def _in_transformers(self) -> KVPrefix:
        """Return the prefix in transformers, which has read all of the text."""
        if self._fallback is None:
            self._fallback = self._new_fallback()
        if missing := self._tokens[self._fallback.length :]:
            self._fallback.next_logits(missing)
        return self._fallback

    def _read(
        self, forward: NativeForward, token_ids: Sequence[int], rows: Sequence[int], *, undone: bool = False
    ) -> torch.Tensor:
        """Read tokens in C; return the logits at these rows.

        Args:
            rows: the last one, unless ``undone``.
            undone: all of the tokens may be taken back, so they are read at once.
        """
        if self._states is None:
            self._states = forward.new_states()
            self.cache.begin(forward.empty_states(), forward.cached_layers)
        # Does nothing unless the last step was interrupted, or transformers read some of the text.
        self._states.rewind(self.length)
        missing = self._tokens[self._states.length :]
        parts = [*_parts(missing), *([token_ids] if undone else _parts(token_ids))]
        logits = torch.empty((len(rows), forward.vocabulary), dtype=forward.dtype)
        for part in parts[:-1]:
            self._run_part(forward, self._states, part, [], logits)
        first = len(token_ids) - len(parts[-1])
        if undone:
            self._states.reserve(len(parts[-1]))
        self._run_part(forward, self._states, parts[-1], [row - first for row in rows], logits)
        return logits

    def _run_part(
        self,
        forward: NativeForward,
        states: RecurrentStates,
        token_ids: Sequence[int],
        rows: Sequence[int],
        logits: torch.Tensor,
    ) -> None:
        cached, count = states.length, len(token_ids)
        transformer, embedded = self._bind(forward, cached + count), forward.embedded(token_ids)
        tables = forward.prepare(transformer, cached + count)
        visible, depths, _ = causal_inputs(count)
        with states.reading(transformer, count):
            forward.kernels.step(transformer, token_ids, embedded, cached, visible, depths, integers(rows), logits)
        del tables  # C has read them to the end
        for layer in self.cache.layers:
            layer.resize(cached + count)

    def _forget(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
        if self._states is not None:
            self._states.rewind(length)
            self.cache.rewind(self._states.length)


def _parts(text: Sequence[int]) -> list[Sequence[int]]:
    return [text[at : at + MAX_TOKENS] for at in range(0, len(text), MAX_TOKENS)]
