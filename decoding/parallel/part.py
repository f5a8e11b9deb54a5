"""Part: what one rank computes of a step, some of its candidates and some of its window's columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from decoding.drafting.tree import CandidateTree
from decoding.model.inputs import StepInputs
from decoding.step import Origin


@dataclass(frozen=True)
class Part:
    """One rank's part of a step.

    Attributes:
        tokens: its candidates' tokens, parents before children.
        parents: of each the number of its parent in this part, where the last token is number 0.
        start: the first of its columns of the window.
        rows: of the window's first row all columns up to its last, of each other row its own columns alone.
        width: how many of each row's likeliest next tokens are wanted.
    """

    tokens: list[int]
    parents: list[int]
    start: int
    rows: list[list[int]]
    width: int

    @property
    def columns(self) -> int:
        """How many columns are its own."""
        return len(self.rows[0]) - self.start if self.rows else 0

    def tree(self) -> CandidateTree:
        """Its candidates."""
        tree = CandidateTree()
        for token, parent in zip(self.tokens, self.parents, strict=True):
            # Which source a candidate is from is only of interest to who proposed it.
            tree.grow(parent, token, 1 + (tree.depths[parent - 1] if parent else 0), Origin.CONTEXT)
        return tree

    def lay_out(self, unread: Sequence[int], tree: CandidateTree) -> StepInputs:
        """The inputs of this rank's forward pass.

        Args:
            unread: the end of the text that this rank has not read, the last token included; everything sees it.
            tree: its candidates.

        Returns:
            Depths are counted from the first of the unread.
        """
        last = len(unread) - 1
        first_of_window = len(unread) + len(tree)
        window = [token for row in self.rows for token in row]
        total = first_of_window + len(window)
        visible = np.zeros((total, total), dtype=np.bool_)
        visible[:last, :last] = np.tri(last, dtype=np.bool_)
        visible[last:, :last] = True
        visible[last:, last:] = tree.ancestry(total - last)
        depths = [*range(last + 1), *(last + depth for depth in tree.depths)]
        if window:
            window_depths, window_visible = _geometry(len(self.rows), self.start, len(self.rows[0]))
            visible[first_of_window:, last] = True
            visible[first_of_window:, first_of_window:] = window_visible
            depths += (window_depths + last).tolist()
        return StepInputs(
            token_ids=[*unread, *tree.tokens, *window],
            depths=np.asarray(depths, dtype=np.int64),
            visible=visible,
            read=[*range(last, first_of_window), *range(total - self.columns, total)],
        )

    def words(self) -> list[int]:
        """As whole numbers, to be sent."""
        first = len(self.rows[0]) if self.rows else 0
        head = [self.width, len(self.tokens), len(self.rows), self.start, first]
        return [*head, *self.tokens, *self.parents, *(token for row in self.rows for token in row)]

    @classmethod
    def of_words(cls, words: Sequence[int]) -> Part:
        """What :meth:`words` gave."""
        width, count, row_count, start, first = words[:5]
        rest = iter(words[5:])
        tokens, parents = _next(rest, count), _next(rest, count)
        rows = [_next(rest, first - start if row else first) for row in range(row_count)]
        return cls(tokens, parents, start, rows, width)

    def __len__(self) -> int:
        """The tokens of its forward pass beside those of the text."""
        return len(self.tokens) + sum(map(len, self.rows))


def _next(words: Iterator[int], count: int) -> list[int]:
    return [next(words) for _ in range(count)]


@lru_cache(maxsize=256)
def _geometry(row_count: int, start: int, stop: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """As that of a whole window (see :class:`~decoding.drafting.window.JacobiWindow`), for a part of its columns."""
    places = [(0, column) for column in range(stop)]
    places += [(row, column) for row in range(1, row_count) for column in range(start, stop)]
    rows, columns = np.asarray(places, dtype=np.int64).T
    own_column = (columns[None, :] == columns[:, None]) & (rows[None, :] <= rows[:, None])
    first_row = (rows[None, :] == 0) & (columns[None, :] <= columns[:, None])
    return 1 + rows + columns, own_column | first_row
