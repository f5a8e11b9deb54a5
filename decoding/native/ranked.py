"""RankedRows: the logits of a step in C and the largest of each row, which C finds while they are in its caches."""

from __future__ import annotations

from ctypes import Array, c_float, c_int64
from typing import NamedTuple

import torch

RANKED = 8
"""Values of each row that are found: as many as any source of candidates learns from."""
USUAL_ROWS = 16
"""Rows of most steps with candidates."""
_RANKS = "_ranks_in_c"
"""The attribute of a tensor that :meth:`RankedRows.first` gave."""


class Ranks(NamedTuple):
    """The largest values of each row of a tensor, in descending order, and their indices; ties by index."""

    rows: int
    ranked: int
    values: Array[c_float]
    places: Array[c_int64]

    def largest(self, count: int) -> tuple[list[list[float]], list[list[int]]]:
        """Return the ``count`` largest values of each row, and their indices."""
        starts = range(0, self.rows * self.ranked, self.ranked)
        return [self.values[at : at + count] for at in starts], [self.places[at : at + count] for at in starts]


class RankedRows:
    """Memory for the logits of one step after the other, each step's over the last one's.

    Its tensors are made once, those of up to :data:`USUAL_ROWS` rows at once: to make one in the midst of a step takes
    longer than to find the largest values of all its rows.

    Attributes:
        room: the number of rows, at least as many as were asked for.
        ranked: the number of values that are found of each row.
        address: of the logits.
        values, places: the values found, and their indices.
    """

    def __init__(self, room: int, vocabulary: int, dtype: torch.dtype) -> None:
        self.room = room = max(room, USUAL_ROWS)
        self.ranked, self._kind = min(RANKED, vocabulary), (vocabulary, dtype)
        self._logits = torch.empty((room, vocabulary), dtype=dtype)
        self.address = self._logits.data_ptr()
        self.values, self.places = (c_float * (room * self.ranked))(), (c_int64 * (room * self.ranked))()
        self._views: dict[int, torch.Tensor] = {}
        for rows in range(USUAL_ROWS + 1):
            self.first(rows)

    def fits(self, rows: int, vocabulary: int, dtype: torch.dtype) -> bool:
        """Return True if so many rows of this kind have room."""
        return rows <= self.room and (vocabulary, dtype) == self._kind

    def first(self, rows: int) -> torch.Tensor:
        """Return the first rows, shape (rows, vocabulary); for 0 the first one, shape (vocabulary,)."""
        view = self._views.get(rows)
        if view is None:
            view = self._views[rows] = self._logits[:rows] if rows else self._logits[0]
            setattr(view, _RANKS, Ranks(max(rows, 1), self.ranked, self.values, self.places))
        return view


def ranks_of(logits: torch.Tensor, count: int) -> Ranks | None:
    """Return the ranks of rows that a step in C has written, if they hold so many values; None for other rows."""
    ranks: Ranks | None = getattr(logits, _RANKS, None)
    return ranks if ranks is not None and count <= ranks.ranked else None
