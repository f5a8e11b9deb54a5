"""ChainPrefix: the prefix of a model with a recurrent state, whose steps verify one chain of candidates.

If only part of a chain is accepted, the state from before the step is restored, and the next forward pass begins by
reading the accepted tokens again: going back takes no pass of its own. A model whose only recurrent layers are
convolutions is cut back instead, and reads nothing again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Self

import torch

from decoding.chains.state_cache import StateCache
from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.inputs import StepInputs
from decoding.model.mask_check import NOISE_FACTOR, ROUNDINGS, distance, is_out_of_memory
from decoding.model.prefix import KVPrefix, RecurrentPrefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_REREADS = 64
"""Maximum number of tokens that a rewound prefix leaves to be read again, rather than being cut shorter."""
FIRST_TOKENS, PREFIX_TOKENS = 7, 80
"""Tokens read first, and all tokens read before the steps: some models read a text in blocks of 64."""
STEP_TOKENS = 4
MIN_TOLERANCE = 2e-5
"""Smaller than in the mask check: with random weights states hardly matter, and a wrong one changes logits by 1e-4."""


class ChainPrefix(KVPrefix):
    """The prefix in a cache with recurrent states."""

    one_chain = True
    cache: StateCache

    def __init__(self, model: PreTrainedModel, capabilities: ModelCapabilities) -> None:
        super().__init__(model, capabilities, StateCache(model.config))
        # The cache may have read fewer than these.
        self._tokens: list[int] = []

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

    def copy(self) -> Self:
        other = super().copy()
        other._tokens = self._tokens.copy()
        return other

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
        """Forget all but the first ``length`` tokens; what the cache has to forget beyond that will be read again."""
        self.cache.rewind(length)
        del self._tokens[length:]


def why_chains_fail(
    model: PreTrainedModel, capabilities: ModelCapabilities, new_prefix: Callable[[], ChainPrefix]
) -> str | None:
    """Return the reason why steps over one chain of candidates differ from plain decoding; None if they do not.

    Raises:
        MemoryError, torch.OutOfMemoryError, RuntimeError: there was not enough memory; the check is inconclusive.
    """
    try:
        alike = _chains_match_plain(model, capabilities, new_prefix())
    except Exception as error:  # a model's own code may raise anything where it expects one token
        if is_out_of_memory(error):
            raise
        return f"its forward fails on several tokens behind its recurrent state ({type(error).__name__})"
    return None if alike else "several tokens behind its recurrent state get other logits than in single steps"


@torch.inference_mode()
def _chains_match_plain(model: PreTrainedModel, capabilities: ModelCapabilities, prefix: ChainPrefix) -> bool:
    draw, limit = Random(4), capabilities.position_limit
    length = PREFIX_TOKENS if limit is None else max(2, min(PREFIX_TOKENS, limit - 2 * STEP_TOKENS))
    tokens = [draw.randrange(vocabulary_size(model)) for _ in range(length + STEP_TOKENS)]
    text, (one, two, three, four) = tokens[:length], tokens[length:]
    plain = RecurrentPrefix(model, capabilities)
    expected = [plain.next_logits(text), *[plain.next_logits([token]) for token in tokens[length:]]]
    noise = distance(expected[-1], RecurrentPrefix(model, capabilities).next_logits(tokens))

    prefix.next_logits(text[: min(FIRST_TOKENS, length - 1)])
    found = [prefix.next_logits(text[prefix.length :])]
    # Two rejected candidates, then an accepted one before a rejected one, then a plain step.
    found += prefix.branch_logits(StepInputs.chain([one, four, four]))[:1]
    prefix.keep(length, [0])
    found += prefix.branch_logits(StepInputs.chain([two, three, one]))[:2]
    prefix.keep(length + 1, [0, 1])
    found.append(prefix.next_logits([four]))
    tolerance = max(NOISE_FACTOR * noise, ROUNDINGS * torch.finfo(model.dtype).eps, MIN_TOLERANCE)
    # One by one: no comparison with NaN is true.
    return all(distance(left, right) <= tolerance for left, right in zip(found, expected, strict=True))
