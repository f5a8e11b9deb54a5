"""NGramPool: n-grams of the Jacobi trajectory, by their first token, the least recently used out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TypeAlias

from decoding.drafting.source import EvidenceClass, PathTable, Proposal, Source

MAX_KEYS = 16_384
"""First tokens held; the least recently used goes. With G = 15 and N = 5 that bounds the pool near 40 MB."""


Tails: TypeAlias = Sequence[tuple[int, ...]]
"""The rest of each n-gram that a path has begun."""


class NGramPool(PathTable):
    """The n-gram pool of lookahead decoding: up to G tails of N-1 tokens for each first token."""

    def __init__(self) -> None:
        self._tails: OrderedDict[int, OrderedDict[tuple[int, ...], None]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        """The number of n-grams held."""
        return self._size

    def add(self, ngram: Sequence[int], guess_set_size: int) -> None:
        """Keep an n-gram as its first token's most recent, ``guess_set_size`` of them at most."""
        if guess_set_size < 1:
            return
        key, tail = ngram[0], tuple(ngram[1:])
        tails = self._tails.setdefault(key, OrderedDict())
        self._tails.move_to_end(key)
        self._size -= len(tails)
        tails[tail] = None
        tails.move_to_end(tail)
        while len(tails) > guess_set_size:
            tails.popitem(last=False)
        self._size += len(tails)
        if len(self._tails) > MAX_KEYS:
            _, dropped = self._tails.popitem(last=False)
            self._size -= len(dropped)

    def learn_ngrams(self, ngrams: Iterable[tuple[int, ...]], guess_set_size: int) -> None:
        for ngram in ngrams:
            self.add(ngram, guess_set_size)

    def after(self, token: int) -> Iterator[tuple[int, ...]]:
        """Return the tails known to follow a token, the most recent first."""
        return reversed(self._tails.get(token, {}))

    def continuations(self, text: Sequence[int], longest: int) -> Iterator[tuple[EvidenceClass, Sequence[int]]]:
        return ((self.first_class, tail[:longest]) for tail in self.after(text[-1]))

    def start(self, text: Sequence[int]) -> Tails:
        return list(self.after(text[-1]))

    def proposals(self, state: Tails) -> list[Proposal]:
        tails: dict[int, list[tuple[int, ...]]] = {}
        for tail in state:
            tails.setdefault(tail[0], []).append(tail[1:])
        return [(token, (self.first_class,), [rest for rest in rests if rest]) for token, rests in tails.items()]

    def copy(self) -> NGramPool:
        other = copy(self)
        other._tails = OrderedDict((key, tails.copy()) for key, tails in self._tails.items())
        return other


SOURCE: Source = Source("trajectory", NGramPool, weights=(0.5,), needs_window=True)
