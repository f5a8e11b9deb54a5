"""Step: the one value that every decoder yields."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from decoding.drafting.registry import Origin as Origin


class FinishReason(StrEnum):
    """Reason that a generation ended."""

    EOS = "eos"
    LENGTH = "length"
    STOP = "stop"
    """A stopping criterion was met, a stop string for one."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """One forward pass of the model, and the tokens that it emitted.

    Attributes:
        tokens: one or more token ids, in order, already cut at an end-of-sequence id (which is included) and at
            ``max_new_tokens``.
        origins: one per token.
        finish_reason: set on the last step of a generation.
        forward_tokens: the number of tokens in the forward pass: the prompt's for a prefill, else the last token,
            the candidates and the window.
        candidates: the number of candidate tokens among them (nodes of the tree).
        window_size: W in force; 0 in a plain step.
        ngram_size: N in force; 0 in a plain step.
        table_sizes: the entries in the table of each source of candidates.
        prefill: True where the forward read the prompt.
        forward_seconds: the model's share of ``seconds``.
        seconds: from the request for this step to its arrival, bookkeeping included.
    """

    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    finish_reason: FinishReason | None = None
    forward_tokens: int = 1
    candidates: int = 0
    window_size: int = 0
    ngram_size: int = 0
    table_sizes: Mapping[Origin, int] = {}
    prefill: bool = False
    forward_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def written(self) -> int:
        """The number of tokens that are text: all but the EOS that ended the generation."""
        return len(self.tokens) - (self.finish_reason is FinishReason.EOS)

    @property
    def pool_size(self) -> int:
        """The number of n-grams of the trajectory held."""
        return self.table_sizes.get(Origin.TRAJECTORY, 0)

    @property
    def accepted(self) -> int:
        """The number of tokens that a source had proposed: the accepted run's length."""
        return sum(origin is not Origin.PLAIN for origin in self.origins)
