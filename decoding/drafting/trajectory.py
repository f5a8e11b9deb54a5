"""TrajectoryPool: n-grams of the Jacobi trajectory, by their first token, the least recently used out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence

MAX_KEYS = 16_384
"""First tokens held; the least recently used goes. With G = 15 and N = 5 that bounds the pool near 40 MB."""


class TrajectoryPool:
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

    def after(self, token: int) -> Iterator[tuple[int, ...]]:
        """The tails known to follow a token, the most recent first."""
        return reversed(self._tails.get(token, {}))

    def copy(self) -> TrajectoryPool:
        """A pool of its own with the same n-grams."""
        other = TrajectoryPool()
        other._tails = OrderedDict((key, tails.copy()) for key, tails in self._tails.items())
        other._size = self._size
        return other
