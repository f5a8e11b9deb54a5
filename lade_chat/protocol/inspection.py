"""Inspection of a step: its window, its candidates with their origins, the tokens accepted, and what may follow."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

TokenSource: TypeAlias = Literal["plain", "trajectory", "context", "successor"]


class Candidate(msgspec.Struct, frozen=True, array_like=True):
    """A candidate that a step verified.

    ``parent``: number of the candidate that it continues, from 1; 0 for the last token. ``probability``: the budget's
    estimate that it and all its ancestors are accepted; None with fixed sizes.
    """

    text: str
    parent: int
    origin: TokenSource
    accepted: bool
    probability: float | None = None


class RankedToken(msgspec.Struct, frozen=True, array_like=True):
    """A token that may come next: its place among all, from 1, and the model's own probability, before any sampling.

    ``text``: what it writes there; empty if it has no text of its own. ``ends``: it ends the reply.
    """

    id: int
    name: str
    text: str
    rank: int
    probability: float
    ends: bool = False


class Trials(msgspec.Struct, frozen=True, array_like=True):
    """A source's acceptance by depth: candidates whose ancestors were all accepted, and those of them accepted."""

    origin: TokenSource
    tried: tuple[int, ...]
    accepted: tuple[int, ...]


class Inspection(msgspec.Struct, frozen=True):
    """One step: the window, the candidates, the accepted tokens, and the budget's cost curve.

    ``window``: rows, the oldest first; ``new_row``: the model's tokens after the last one. ``costs``: the cost with 0,
    1, 2 … candidates, in plain steps; empty with fixed sizes. ``trials`` count from the start of the reply.
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
    table_sizes: tuple[tuple[TokenSource, int], ...] = ()
    """The entries that each source's table held."""
    prompt: bool = False
    """The step read the prompt."""
    likeliest: tuple[RankedToken, ...] = ()
    """The likeliest tokens of the next step, while the reply waits before it."""

    @property
    def pool_size(self) -> int:
        """The number of n-grams in the pool."""
        return dict(self.table_sizes).get("trajectory", 0)

    @property
    def ngrams(self) -> tuple[tuple[str, ...], ...]:
        """The n-grams that the step yielded, one per column; none while the window fills."""
        full = bool(self.new_row) and len(self.window) == self.ngram_size - 1
        return tuple(zip(*self.window, self.new_row, strict=True)) if full else ()
