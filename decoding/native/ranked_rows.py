"""RankedRows: the logits of a step in C and the largest of each row, found while they are in the processor's cache."""

from __future__ import annotations

from ctypes import Array, c_float, c_int64
from typing import NamedTuple
from weakref import ReferenceType, ref

import torch

RANKED = 8
"""Values of each row that are found: as many as any source of candidates learns from."""
USUAL_ROWS = 16
"""Rows of most steps with candidates."""
_RANKS = "_ranks_in_c"
"""The attribute of a tensor that :meth:`RankedRows.first` gave."""


class Ranks(NamedTuple):
    """The largest values of each row of a tensor, in descending order, and their indices; ties by index.

    Attributes:
        start: the place of the first row's values.
        rows: the number of rows.
        ranked: the number of values of each row.
        values, places: of all rows in memory.
        address: of the tensor.
        vocabulary: the number of logits in a row.
        memory: a reference to the owner of all that, gone with it: the tensor is then like any other.
    """

    start: int
    rows: int
    ranked: int
    values: Array[c_float]
    places: Array[c_int64]
    address: int
    vocabulary: int
    memory: ReferenceType[RankedRows]

    def largest(self, count: int) -> tuple[list[list[float]], list[list[int]]]:
        """Return the ``count`` largest values of each row, and their indices."""
        starts = range(self.start, self.start + self.rows * self.ranked, self.ranked)
        return [self.values[at : at + count] for at in starts], [self.places[at : at + count] for at in starts]

    def argmax(self) -> list[int]:
        """Return the index of each row's largest value."""
        return self.places[self.start : self.start + self.rows * self.ranked : self.ranked]


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
        self.ranked, self._vocabulary, self._dtype = min(RANKED, vocabulary), vocabulary, dtype
        self._logits = torch.empty((room, vocabulary), dtype=dtype)
        self.address = self._logits.data_ptr()
        self.values, self.places = (c_float * (room * self.ranked))(), (c_int64 * (room * self.ranked))()
        self._row_bytes = vocabulary * dtype.itemsize
        self._views: dict[int, torch.Tensor] = {}
        self._row_views: dict[int, torch.Tensor] = {}
        for rows in range(1, USUAL_ROWS + 1):
            self.first(rows)
            self.row(rows - 1)

    def fits(self, rows: int, vocabulary: int, dtype: torch.dtype) -> bool:
        """Return True if so many rows of this kind have room."""
        return rows <= self.room and vocabulary == self._vocabulary and dtype == self._dtype

    def first(self, rows: int) -> torch.Tensor:
        """Return the first rows, shape (rows, vocabulary)."""
        view = self._views.get(rows)
        if view is None:
            view = self._views[rows] = self._ranked(self._logits[:rows], 0, rows)
        return view

    def row(self, row: int) -> torch.Tensor:
        """Return one row, shape (vocabulary,)."""
        view = self._row_views.get(row)
        if view is None:
            view = self._row_views[row] = self._ranked(self._logits[row], row, 1)
        return view

    def _ranked(self, view: torch.Tensor, first: int, rows: int) -> torch.Tensor:
        start, address = first * self.ranked, self.address + first * self._row_bytes
        ranks = Ranks(start, rows, self.ranked, self.values, self.places, address, self._vocabulary, ref(self))
        setattr(view, _RANKS, ranks)
        return view


def ranks_of(logits: torch.Tensor, count: int = 1) -> Ranks | None:
    """Return the ranks of rows that a step in C has written, if they hold so many values; None for other rows."""
    ranks: Ranks | None = getattr(logits, _RANKS, None)
    return ranks if ranks is not None and count <= ranks.ranked else None


def row_of(logits: torch.Tensor, row: int) -> torch.Tensor:
    """Return one row of logits, shape (rows, vocabulary)."""
    ranks = ranks_of(logits)
    memory = None if ranks is None else ranks.memory()
    return logits[row] if memory is None else memory.row(row)
