"""Step: the one value that every decoder yields; and the totals of several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

import msgspec


class Origin(StrEnum):
    """The source that proposed an emitted token.

    PLAIN tokens were chosen by the model behind the accepted run (one a step); the others were proposed by a
    source, and accepted: the model chose that very token itself. Values are the names of the sources.
    """

    PLAIN = "plain"
    TRAJECTORY = "trajectory"
    """An n-gram of the Jacobi trajectory, collected by the lookahead branch."""
    CONTEXT = "context"
    """An n-gram of the prompt, the reply or an earlier turn."""
    SUCCESSOR = "successor"
    """A likely next token recycled from logits already computed (budgeted decoding only)."""

    # An enumeration's own hash is a Python function, and steps look origins up.
    __hash__ = str.__hash__


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


@dataclass
class GenerationStats:
    """Running totals over steps, of one generation or of several.

    >>> stats = GenerationStats.of(decoder.generate([5, 6, 7], max_new_tokens=20, eos_token_ids=()))
    >>> stats.tokens, sum(stats.by_origin.values())
    (20, 20)
    >>> stats.tokens_per_step >= 1
    True

    Attributes:
        by_origin: emitted tokens by where they came from; every origin is a key.
        forwards: forward passes that emitted, the prompt's last one included.
        forward_tokens: tokens that these passes held.
        candidates: candidate tokens among them.
        seconds: the time of all steps.
        prefill_seconds: the time of the steps that read a prompt, all its chunks included.
        forward_seconds: the model's share of ``seconds``.
    """

    by_origin: dict[Origin, int] = field(default_factory=lambda: dict.fromkeys(Origin, 0))
    forwards: int = 0
    forward_tokens: int = 0
    candidates: int = 0
    seconds: float = 0.0
    prefill_seconds: float = 0.0
    forward_seconds: float = 0.0

    @classmethod
    def of(cls, steps: Iterable[Step]) -> GenerationStats:
        """Return the totals of these steps."""
        stats = cls()
        for step in steps:
            stats.add(step)
        return stats

    def add(self, step: Step) -> None:
        """Count one step."""
        for origin in step.origins:
            self.by_origin[origin] += 1
        self.forwards += 1
        self.forward_tokens += step.forward_tokens
        self.candidates += step.candidates
        self.seconds += step.seconds
        self.prefill_seconds += step.seconds if step.prefill else 0.0
        self.forward_seconds += step.forward_seconds

    def __add__(self, other: GenerationStats) -> GenerationStats:
        by_origin = {origin: self.by_origin[origin] + other.by_origin[origin] for origin in Origin}
        names = [each.name for each in fields(self) if each.name != "by_origin"]
        return GenerationStats(by_origin, *(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def tokens(self) -> int:
        """Emitted tokens."""
        return sum(self.by_origin.values())

    @property
    def accepted(self) -> int:
        """Emitted tokens that a source had proposed."""
        return self.tokens - self.by_origin[Origin.PLAIN]

    @property
    def tokens_per_step(self) -> float:
        """Step compression, S in the paper; 0 before the first step."""
        return self.tokens / self.forwards if self.forwards else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Tokens in the time of all steps, reading the prompt included; 0 before the first step."""
        return self.tokens / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        line = f"{self.tokens} tokens in {self.forwards} forward passes"
        if not self.forwards:
            return line
        origins = ", ".join(f"{count} {origin.value}" for origin, count in self.by_origin.items() if count)
        speed = f"{self.seconds:.2f} s, {self.tokens_per_second:.1f} tokens/s"
        return f"{line}, {self.tokens_per_step:.2f} each: {origins}; {speed}"
