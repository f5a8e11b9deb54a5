"""SuccessorTable: the likeliest next tokens last seen after each token, recycled from logits already paid for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TypeAlias

import torch

from decoding.drafting.acceptance import Kind, successor_kind

WIDTH = 4
"""How many successors are kept after a token."""
MAX_TOKENS = 32_768
"""Tokens that have an entry; the least recently seen goes (near 20 MB)."""

UNREAD_BYTES = 4_000_000
"""Logits that are kept unread at most; of those beyond, the oldest are dropped."""

Entry: TypeAlias = tuple[tuple[int, Kind], ...]
"""Successors of a token, the likeliest first, and how sure of each the model was."""


class SuccessorTable:
    """Token Recycling (Luo et al. 2024, arXiv 2408.08696): what the model thought likely after a token, last time."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, tuple[Sequence[int], Sequence[float]]] = OrderedDict()
        # Most tokens are not met again soon, so everything else about them waits until they are.
        self._entries: dict[int, Entry] = {}
        self._unread: OrderedDict[int, torch.Tensor] = OrderedDict()
        self._most_unread = 0

    def __len__(self) -> int:
        """The number of tokens that have an entry."""
        return len(self._seen) + sum(token not in self._seen for token in self._unread)

    def learn(self, token: int, successors: Sequence[int], logits: Sequence[float]) -> None:
        """Remember what is likely after a token; the last word counts.

        Args:
            successors: the likeliest next tokens, the likeliest first.
            logits: theirs.
        """
        self.learn_rows([token], [successors], [logits])

    def learn_rows(
        self, tokens: Sequence[int], successors: Sequence[Sequence[int]], logits: Sequence[Sequence[float]]
    ) -> None:
        """As :meth:`learn`, for one token after another."""
        seen, unread, entries = self._seen, self._unread, self._entries
        for token, of_token, of_logits in zip(tokens, successors, logits, strict=True):
            if token in unread:
                del unread[token]
            if token in entries:
                del entries[token]
            seen[token] = (of_token, of_logits)
            seen.move_to_end(token)
        while len(seen) + len(unread) > MAX_TOKENS and seen:
            self._drop_oldest()

    def learn_later(self, token: int, logits: torch.Tensor) -> None:
        """As :meth:`learn`, but nothing is looked for until the token is met again.

        Args:
            logits: of all tokens, shape (vocabulary,); kept, so nobody may write into them.
        """
        self._unread.pop(token, None)
        self._unread[token] = logits
        self._most_unread = self._most_unread or min(MAX_TOKENS, UNREAD_BYTES // logits.nbytes)
        if len(self._unread) > self._most_unread:
            self._unread.popitem(last=False)
        self._bound()

    def after(self, token: int) -> Entry:
        """The likeliest successors of a token, the likeliest first; empty if it is new."""
        unread = self._unread.get(token)
        if unread is not None:
            values, successors = unread.float().topk(min(WIDTH, len(unread)))
            self.learn(token, successors.tolist(), values.tolist())
        entry = self._entries.get(token)
        if entry is None:
            seen = self._seen.get(token)
            entry = _entry(*seen) if seen else ()
            if entry:
                self._entries[token] = entry
        return entry

    def copy(self) -> SuccessorTable:
        """A table of its own with the same entries."""
        other = SuccessorTable()
        other._seen, other._entries, other._unread = self._seen.copy(), self._entries.copy(), self._unread.copy()
        return other

    def _bound(self) -> None:
        if len(self._seen) + len(self._unread) > MAX_TOKENS and self._seen:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        oldest, _ = self._seen.popitem(last=False)
        self._entries.pop(oldest, None)


def _entry(successors: Sequence[int], logits: Sequence[float]) -> Entry:
    best, second = logits[0], logits[min(1, len(logits) - 1)]
    return tuple(
        (token, successor_kind(place, best - (logit if place else second)))
        for place, (token, logit) in enumerate(zip(successors, logits, strict=True))
    )
