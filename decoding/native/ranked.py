"""RankedRows: the logits of a step in C and the largest of each row, which C finds while they are in its caches."""

from __future__ import annotations

from ctypes import c_float, c_int64
from typing import NamedTuple
from weakref import ref

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
        first: the first row, of those in memory.
        rows: the number of rows.
        memory: of all rows.
    """

    first: int
    rows: int
    memory: RankedRows

    def largest(self, count: int) -> tuple[list[list[float]], list[list[int]]]:
        """Return the ``count`` largest values of each row, and their indices."""
        ranked, values, places = self.memory.ranked, self.memory.values, self.memory.places
        starts = range(self.first * ranked, (self.first + self.rows) * ranked, ranked)
        return [values[at : at + count] for at in starts], [places[at : at + count] for at in starts]

    def argmax(self) -> list[int]:
        """Return the index of each row's largest value."""
        ranked = self.memory.ranked
        return self.memory.places[self.first * ranked : (self.first + self.rows) * ranked : ranked]

    @property
    def address(self) -> int:
        """The address of the first row."""
        return self.memory.address + self.first * self.memory.row_bytes


class RankedRows:
    """Memory for the logits of one step after the other, each step's over the last one's.

    Its tensors are made once, those of up to :data:`USUAL_ROWS` rows at once: to make one in the midst of a step takes
    longer than to find the largest values of all its rows.

    Attributes:
        room: the number of rows, at least as many as were asked for.
        ranked: the number of values that are found of each row.
        vocabulary: the number of logits in a row.
        address: of the logits.
        row_bytes: the bytes of a row.
        values, places: the values found, and their indices.
    """

    def __init__(self, room: int, vocabulary: int, dtype: torch.dtype) -> None:
        self.room = room = max(room, USUAL_ROWS)
        self.ranked, self.vocabulary, self._dtype = min(RANKED, vocabulary), vocabulary, dtype
        self._logits = torch.empty((room, vocabulary), dtype=dtype)
        self.address = self._logits.data_ptr()
        self.values, self.places = (c_float * (room * self.ranked))(), (c_int64 * (room * self.ranked))()
        self.row_bytes = vocabulary * dtype.itemsize
        self._views: dict[int, torch.Tensor] = {}
        self._row_views: dict[int, torch.Tensor] = {}
        for rows in range(1, USUAL_ROWS + 1):
            self.first(rows)
            self.row(rows - 1)

    def fits(self, rows: int, vocabulary: int, dtype: torch.dtype) -> bool:
        """Return True if so many rows of this kind have room."""
        return rows <= self.room and vocabulary == self.vocabulary and dtype == self._dtype

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
        setattr(view, _RANKS, (first, rows, ref(self)))  # a tensor that outlives its memory's owner is like any other
        return view


def ranks_of(logits: torch.Tensor, count: int = 1) -> Ranks | None:
    """Return the ranks of rows that a step in C has written, if they hold so many values; None for other rows."""
    known = getattr(logits, _RANKS, None)
    if known is None or (memory := known[2]()) is None or count > memory.ranked:
        return None
    return Ranks(known[0], known[1], memory)


def row_of(logits: torch.Tensor, row: int) -> torch.Tensor:
    """Return one row of logits, shape (rows, vocabulary)."""
    ranks = ranks_of(logits)
    return logits[row] if ranks is None else ranks.memory.row(ranks.first + row)
