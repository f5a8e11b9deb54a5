"""Step: the one value that every decoder yields."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """Where an emitted token came from.

    PLAIN tokens were chosen by the model behind the accepted run (one a step); the others were proposed by a
    source, and verified: the model chose that very token itself.
    """

    PLAIN = "plain"
    TRAJECTORY = "trajectory"
    """An n-gram of the Jacobi trajectory, collected by the lookahead branch."""
    CONTEXT = "context"
    """An n-gram of the prompt, the reply or an earlier turn."""
    SUCCESSOR = "successor"
    """A likely next token recycled from logits already computed (budgeted decoding only)."""


class FinishReason(StrEnum):
    """Why a generation ended."""

    EOS = "eos"
    LENGTH = "length"
    STOP = "stop"
    """A stopping criterion said so, a stop string for one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One forward pass of the model, and what it settled.

    Attributes:
        tokens: one or more token ids, in order, already cut at an end-of-sequence id (which is included) and at
            ``max_new_tokens``.
        origins: one per token.
        finish_reason: set on the last step of a generation.
        forward_tokens: how many tokens the forward pass held: the prompt's for a prefill, else the last token,
            the candidates and the window.
        candidates: how many of them were candidate tokens (nodes of the tree).
        window_size: W in force; 0 in a plain step.
        ngram_size: N in force; 0 in a plain step.
        pool_size: how many n-grams of the trajectory are held.
        context_size: how many tokens of prompt, replies and earlier turns are indexed.
        prefill: True where the forward read the prompt.
        exchanged_bytes: what passed between the ranks, where a step is split over several.
        share_tokens: how many tokens the largest forward pass of a rank held then; 0 where nothing is split.
        forward_seconds: the model's share of ``seconds``.
        seconds: from the moment this step was asked for to the moment it was there, bookkeeping included.
    """

    tokens: tuple[int, ...]
    origins: tuple[Origin, ...]
    finish_reason: FinishReason | None = None
    forward_tokens: int = 1
    candidates: int = 0
    window_size: int = 0
    ngram_size: int = 0
    pool_size: int = 0
    context_size: int = 0
    prefill: bool = False
    exchanged_bytes: int = 0
    share_tokens: int = 0
    forward_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def verified(self) -> int:
        """How many of the tokens were proposed by a source and verified: the accepted run's length."""
        return sum(origin is not Origin.PLAIN for origin in self.origins)
