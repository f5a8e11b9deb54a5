"""SuccessorTable: the likeliest next tokens last seen after each token, recycled from logits already paid for."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from decoding.drafting.source import EvidenceClass, Source, TokenTable, as_tokens
from decoding.sampling.vocabulary import largest

WIDTH = 4
"""Successors kept after a token."""
GAPS = (0.7, 2.0, 4.0)
"""Bounds between the evidence classes of successors of one rank, in nats."""
MAX_TOKENS = 32_768
"""Tokens that have an entry; the least recently seen goes (near 20 MB)."""
MAX_UNREAD_BYTES = 4_000_000
"""Logits kept unread; of those beyond, the oldest are dropped."""

Entry: TypeAlias = tuple[tuple[int, EvidenceClass], ...]
"""Successors of a token, the likeliest first, and how sure of each the model was."""


def successor_class(rank: int, gap: float) -> EvidenceClass:
    """Return the evidence class of a successor.

    Args:
        rank: 0 for the likeliest.
        gap: in nats; for the likeliest its lead over the second, for another its distance from the likeliest.
    """
    return rank * (len(GAPS) + 1) + bisect_right(GAPS, gap)


class SuccessorTable(TokenTable):
    """Token Recycling (Luo et al. 2024, arXiv 2408.08696): what the model thought likely after a token, last time."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, tuple[Sequence[int], Sequence[float]]] = OrderedDict()
        # Most tokens are not met again soon, so everything else about them waits until they are.
        self._entries: dict[int, Entry] = {}
        self._unread: OrderedDict[int, torch.Tensor] = OrderedDict()
        self._max_unread = 0

    def __len__(self) -> int:
        """The number of entries, those of logits not read yet included."""
        return len(self._seen) + len(self._unread)

    def learn(self, token: int, successors: Sequence[int], logits: Sequence[float]) -> None:
        """Replace the entry of one token; see :meth:`learn_rows`."""
        self.learn_rows([token], [successors], [logits])

    def learn_rows(
        self, tokens: Sequence[int], successors: Sequence[Sequence[int]], logits: Sequence[Sequence[float]]
    ) -> None:
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

    def learn_logits(self, token: int, logits: torch.Tensor) -> None:
        # The likeliest are searched for only once the token is met again.
        self._unread.pop(token, None)
        self._unread[token] = logits
        self._max_unread = self._max_unread or min(MAX_TOKENS, MAX_UNREAD_BYTES // logits.nbytes)
        if len(self._unread) > self._max_unread:
            self._unread.popitem(last=False)
        self._bound()

    def after(self, token: int) -> Entry:
        """Return the likeliest successors of a token, the likeliest first; empty if it is new."""
        unread = self._unread.get(token)
        if unread is not None:
            values, successors = largest(unread[None], min(WIDTH, len(unread)))
            self.learn(token, successors[0], values[0])
        entry = self._entries.get(token)
        if entry is None:
            seen = self._seen.get(token)
            entry = _entry(*seen) if seen else ()
            if entry:
                self._entries[token] = entry
        return entry

    def entries(self) -> list[tuple[int, list[int], list[float]]]:
        for token in list(self._unread):
            self.after(token)
        return [(token, list(of_token), list(logits)) for token, (of_token, logits) in self._seen.items()]

    def restore(self, entries: Any, vocabulary: int) -> None:
        for token, of_token, logits in entries:
            if not 1 <= len(of_token) == len(logits) <= WIDTH:
                raise ValueError("successors without a logit each")
            as_tokens([token, *of_token], vocabulary)
            self.learn(token, of_token, [float(logit) for logit in logits])

    def copy(self) -> SuccessorTable:
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
        (token, successor_class(rank, best - (logit if rank else second)))
        for rank, (token, logit) in enumerate(zip(successors, logits, strict=True))
    )


SOURCE = Source(
    "successor",
    SuccessorTable,
    # Rates seen on a small chat model, every prompt with fresh tables: a line for each rank, by the gap.
    priors=(
        *(0.38, 0.42, 0.55, 0.60),
        *(0.19, 0.15, 0.12, 0.07),
        *(0.05, 0.05, 0.08, 0.06),
        *(0.03, 0.04, 0.04, 0.04),
    ),
    row_width=WIDTH,
)
