"""A step laid open: where tokens come from, what was guessed, and what of it was accepted; part of the protocol."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Origin: TypeAlias = Literal["plain", "trajectory", "context", "successor"]


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """A guess that a step verified.

    ``parent``: the number of the candidate that it continues, counted from 1; 0 for the last token. ``probability``:
    what the budget expected of it and all before it; None with fixed sizes.
    """

    text: str
    parent: int
    origin: Origin
    accepted: bool
    probability: float | None = None


class Trials(msgspec.Struct, frozen=True, array_like=True):
    """How often a source was right, by depth: guesses behind nothing but accepted ones, and how many were accepted."""

    origin: Origin
    tried: tuple[int, ...]
    accepted: tuple[int, ...]


class Inspection(msgspec.Struct, frozen=True):
    """One step laid open: the window, the candidates, what was accepted, and what the budget went by.

    ``window`` is row by row, the oldest first; ``new_row`` is what the model chose behind the last one. ``costs`` is
    what the step would have cost with 0, 1, 2 … candidates, in plain steps; empty with fixed sizes. ``trials`` are
    since the reply began.
    """

    step: int
    last: str = ""
    settled: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    window: tuple[tuple[str, ...], ...] = ()
    new_row: tuple[str, ...] = ()
    ngram_size: int = 0
    costs: tuple[float, ...] = ()
    trials: tuple[Trials, ...] = ()
    table_sizes: tuple[tuple[Origin, int], ...] = ()
    """The entries that each source's table held."""
    prompt: bool = False
    """Whether the step read the prompt."""

    @property
    def pool_size(self) -> int:
        """The number of n-grams in the pool."""
        return dict(self.table_sizes).get("trajectory", 0)

    @property
    def ngrams(self) -> tuple[tuple[str, ...], ...]:
        """The n-grams that the step yielded, one a column; none while the window fills."""
        full = bool(self.new_row) and len(self.window) == self.ngram_size - 1
        return tuple(zip(*self.window, self.new_row, strict=True)) if full else ()
