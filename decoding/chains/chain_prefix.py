"""ChainPrefix: the prefix of a model with a recurrent state, whose steps verify one chain of candidates.

Where not all of a chain is accepted, the state as it was before the step is restored, and the accepted tokens are read
again at the beginning of the next forward pass: no pass is spent on going back. Convolutions alone are cut back, and
read nothing again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from decoding.chains.recurrent_cache import StateCache
from decoding.model.capabilities import ModelCapabilities
from decoding.model.inputs import StepInputs
from decoding.model.prefix import KVPrefix
from decoding.model.rotary import ReadLengths

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_REREADS = 64
"""Tokens that a rewound prefix leaves to be read again; where there would be more, the prefix is shorter."""


class ChainPrefix(KVPrefix):
    """The prefix in a cache with recurrent states."""

    one_chain = True
    cache: StateCache

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        cache: StateCache | None = None,
        read_lengths: ReadLengths | None = None,
        tokens: Sequence[int] = (),
    ) -> None:
        """
        Args:
            tokens: those of the prefix; the cache may have read fewer.
        """
        super().__init__(model, capabilities, StateCache(model.config) if cache is None else cache, read_lengths)
        self._tokens = list(tokens)

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def rereads(self) -> int:  # type: ignore[override]  # a constant in the base class
        return len(self._tokens) - self.cache.length

    @property
    def cuts_back(self) -> bool:  # type: ignore[override]
        return self.cache.is_recording

    def rewindable_to(self, length: int) -> int:
        read = self.cache.rewindable_to(length)
        return length if 0 < read >= length - MAX_REREADS else read

    def rewind(self, length: int) -> None:
        self._go_back(self.rewindable_to(length))

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        self._go_back(base + len(offsets))

    def copy(self) -> ChainPrefix:
        cache, read_lengths = self.cache.copy(), self._read_lengths.copy()
        return ChainPrefix(self._model, self._capabilities, cache, read_lengths, self._tokens)

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        return self._read(token_ids, [len(token_ids) - 1])[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        assert inputs.depths == [*range(len(inputs))], "a recurrent state takes one chain of candidates and no window"
        self.cache.keep_state()
        return self._read(inputs.token_ids, inputs.logit_rows)

    def _read(self, token_ids: Sequence[int], rows: Sequence[int]) -> torch.Tensor:
        """Read the tokens left to be read again, then these; return the logits at ``rows`` of these."""
        # Does nothing unless the last forward pass was interrupted.
        self._go_back(len(self._tokens))
        again = self._tokens[self.cache.length :]
        ids, first = [*again, *token_ids], len(again)
        # As for keys and values alone: a prefill in float32 is left to PyTorch's own kernels.
        several = first or len(rows) > 1 or self._dtype is torch.bfloat16
        module = self._with_kernels(len(ids)) if several else None
        with self.cache.reading(len(ids)):
            depths = range(-first, len(token_ids))
            logits = self._forward(ids, depths, None, [first + row for row in rows], module)
        self._tokens += token_ids
        return logits

    def _go_back(self, length: int) -> None:
        """Forget all but the first ``length`` tokens, leaving to be read again what the cache has to forget besides."""
        self.cache.rewind(length)
        del self._tokens[length:]
