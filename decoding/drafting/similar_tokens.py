"""SimilarTokens: of the tokens whose successors are known, those that another token is most like by its embedding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from decoding.model.embedding_signs import MAX_WORDS, Signs

COUNT = 2
"""Tokens found at most."""
MAX_TOKENS = 4096
"""Tokens compared with at most; the one taken in first goes."""

SignsOfAll: TypeAlias = "Callable[[], Signs | None]"
"""Gives the signs of all embeddings; None where they cannot be read."""


class SimilarTokens:
    """Tokens to compare with, side by side with the signs of their embeddings.

    Attributes:
        signs_of_all: as given; asked when it is first needed.
    """

    def __init__(self, signs_of_all: SignsOfAll) -> None:
        self.signs_of_all = signs_of_all
        self._places: dict[int, int] = {}
        self._tokens: list[int] = []
        self._signs: Signs = np.empty((MAX_TOKENS, MAX_WORDS), dtype=np.uint64)

    def nearest(self, token: int, new: Sequence[int]) -> list[tuple[int, float]]:
        """Return the tokens most like another one, the nearest first, each with the share of signs that differ.

        Args:
            new: further tokens to compare with, from now on.
        """
        of_all = self.signs_of_all()
        if of_all is None:
            return []
        words = of_all.shape[1]
        for each in new:
            if each not in self._places:
                place = self._place(each)
                self._signs[place, :words] = of_all[each]
        count = len(self._tokens)
        different = np.bitwise_count(self._signs[:count, :words] ^ of_all[token]).sum(axis=1, dtype=np.int64)
        found: list[tuple[int, float]] = []
        for _ in range(min(COUNT, count)):
            place = int(different.argmin())
            found.append((self._tokens[place], int(different[place]) / (64 * words)))
            different[place] = 64 * words + 1
        return found

    def _place(self, token: int) -> int:
        """Return the place of a new token: the next one, or that of the token taken in first."""
        place = len(self._tokens)
        if place < MAX_TOKENS:
            self._tokens.append(token)
        else:
            place = self._places.pop(next(iter(self._places)))
            self._tokens[place] = token
        self._places[token] = place
        return place
