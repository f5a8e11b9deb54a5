"""SuccessorTable: the likeliest next tokens last seen after each token, recycled from logits already paid for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

from decoding.acceptance import Kind, successor_kind

WIDTH = 4
"""How many successors are kept after a token."""
MAX_TOKENS = 32_768
"""Tokens that have an entry; the least recently seen goes (near 20 MB)."""

Entry: TypeAlias = tuple[tuple[int, Kind], ...]
"""Successors of a token, the likeliest first, and how sure of each the model was."""


class SuccessorTable:
    """Token Recycling (Luo et al. 2024, arXiv 2408.08696): what the model thought likely after a token, last time."""

    def __init__(self) -> None:
        self._after: OrderedDict[int, Entry] = OrderedDict()

    def __len__(self) -> int:
        """The number of tokens that have an entry."""
        return len(self._after)

    def learn(self, token: int, successors: Sequence[int], logits: Sequence[float]) -> None:
        """Remember what is likely after a token; the last word counts.

        Args:
            successors: the likeliest next tokens, the likeliest first.
            logits: theirs.
        """
        best, second = logits[0], logits[min(1, len(logits) - 1)]
        kinds = [successor_kind(place, best - (logit if place else second)) for place, logit in enumerate(logits)]
        self._after[token] = tuple(zip(successors, kinds, strict=True))
        self._after.move_to_end(token)
        if len(self._after) > MAX_TOKENS:
            self._after.popitem(last=False)

    def after(self, token: int) -> Entry:
        """The likeliest successors of a token, the likeliest first; empty if it is new."""
        return self._after.get(token, ())

    def copy(self) -> SuccessorTable:
        """A table of its own with the same entries."""
        other = SuccessorTable()
        other._after = self._after.copy()
        return other
