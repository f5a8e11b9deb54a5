"""LlamaPrefix: a prefix in a KV cache, whose steps over a few tokens run in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from transformers import PreTrainedModel

from decoding.llama.forward import LlamaForward
from decoding.model.cache import KVCache
from decoding.model.capabilities import ModelCapabilities
from decoding.model.inputs import StepInputs
from decoding.model.linear_kernels import LinearKernels, is_changed_globally
from decoding.model.prefix import KVPrefix
from decoding.native.structures import Transformer

MAX_TOKENS = 1024
"""Steps over more tokens than this are left to transformers."""
MAX_PREFILL = 64
"""Where the processor has no matrix tiles, a prefill of more tokens than this is too: libraries are good at it."""
_NO_KERNELS = LinearKernels((), {}, 0)


class LlamaPrefix(KVPrefix):
    """The prefix of a Llama-like model. Steps over few tokens run in C, the rest as in any other model."""

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        forward: Callable[[], LlamaForward | None],
        cache: KVCache | None = None,
    ) -> None:
        """
        Args:
            forward: returns the model's forward pass in C, up to date, asked at every step; None while it has none.
        """
        super().__init__(model, capabilities, lambda: _NO_KERNELS, cache)
        self._forward_in_c = forward
        self._bound: tuple[LlamaForward, torch.Tensor, Transformer] | None = None

    @property
    def length(self) -> int:
        layers = self._cache.layers
        return layers[0].length if layers else 0  # all layers are alike here

    def copy(self) -> LlamaPrefix:
        return LlamaPrefix(self._model, self._capabilities, self._forward_in_c, self._cache.copy())

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        count, logits, forward = len(token_ids), None, self._forward_in_c()
        most = MAX_TOKENS if forward is not None and forward.kernels.tiles else MAX_PREFILL
        if 0 < count <= most:  # the rows read are not checked in C
            logits = self._in_c(token_ids, *_causal(count), [count - 1])
        return super().next_logits(token_ids) if logits is None else logits[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        if len(inputs) > MAX_TOKENS:
            return super().branch_logits(inputs)
        logits = self._in_c(inputs.token_ids, inputs.visible, inputs.depths, inputs.logit_rows)
        return super().branch_logits(inputs) if logits is None else logits

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        in_place, rising = offsets[-1] == len(offsets) - 1, all(a < b for a, b in pairwise(offsets))
        forward = self._forward_in_c() if rising and not in_place else None
        if forward is None:
            super().keep(base, offsets)
            return
        # Rising offsets: no token is overwritten before it has been moved.
        places = base + np.asarray(offsets, dtype=np.int64)
        forward.kernels.move_tokens(self._bind(forward, self.length), places, base)
        self._cache.rewind(base + len(offsets))

    @torch.inference_mode()
    def _in_c(self, token_ids: Sequence[int], visible: Any, depths: Any, read: Sequence[int]) -> torch.Tensor | None:
        """Run a step; None where it has to be left to transformers."""
        cached, forward = self.length, self._forward_in_c()
        if forward is None or is_changed_globally():
            return None
        if not self._cache.layers:
            self._cache.begin(forward.empty_states(), forward.depth)
        transformer = self._bind(forward, cached + len(token_ids))
        positions = cached + np.asarray(depths, dtype=np.int64)
        forward.prepare(transformer, cached + len(token_ids))
        logits = torch.empty((len(read), forward.vocabulary), dtype=forward.dtype)
        forward.kernels.step(
            transformer, forward.embeddings(token_ids), cached, np.ascontiguousarray(visible), positions,
            np.asarray(read, dtype=np.int64), logits,
        )  # fmt: skip
        for layer in self._cache.layers:
            layer.resize(cached + len(token_ids))
        return logits

    def _bind(self, forward: LlamaForward, tokens: int) -> Transformer:
        """Return the model with the addresses of the cache, which then has room for so many tokens."""
        first, _ = self._cache.layers[0].reserve(tokens)
        # All layers grow at once, so that the first tells of all.
        if self._bound is None or self._bound[0] is not forward or self._bound[1] is not first:
            layers = forward.layers()
            for layer, buffers in zip(layers, self._cache.layers, strict=True):
                keys, values = buffers.reserve(tokens)
                layer.keys, layer.values = keys.data_ptr(), values.data_ptr()
            self._bound = forward, first, forward.transformer(layers, first.shape[-2])
        return self._bound[2]


@lru_cache(maxsize=4)
def _causal(count: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Return the mask and the depths of so many tokens in a row."""
    return np.tri(count, dtype=np.bool_), np.arange(count, dtype=np.int64)
