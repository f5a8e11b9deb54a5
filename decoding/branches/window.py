"""JacobiWindow: the rows of the lookahead branch and the n-grams that they yield."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

import numpy as np
import numpy.typing as npt


class JacobiWindow:
    """W columns of guesses for the positions ahead, over the last N-1 Jacobi iterations (the rows).

    With the last token at position p, the token in row r, column j stands at position p + 1 + j + r. It sees the
    prefix, the last token, row 0 up to column j, its own column above it, and itself. The model's choice for the
    last row is the next row; a full window then holds an n-gram in every column. The window rotates one row a
    step, however many tokens were accepted.
    """

    def __init__(self, window_size: int, ngram_size: int, first_row: Sequence[int]) -> None:
        """
        Args:
            window_size: W, the number of columns; 0 for no window at all.
            ngram_size: N, the length of the n-grams.
            first_row: W guesses to start from; any tokens will do.
        """
        self.columns = window_size
        self._max_rows = ngram_size - 1
        self.rows: list[list[int]] = [list(first_row)] if window_size else []

    @classmethod
    def drawn_from(cls, text: Sequence[int], window_size: int, ngram_size: int) -> JacobiWindow:
        """Return a window whose first guesses are drawn from the text, the same ones for the same text."""
        draw = Random(len(text))
        return cls(window_size, ngram_size, [draw.choice(text) for _ in range(window_size)])

    @classmethod
    def none(cls) -> JacobiWindow:
        """Return a window without columns."""
        return cls(0, 2, ())

    def __len__(self) -> int:
        """The number of tokens in the window."""
        return self.columns * len(self.rows)

    @property
    def ngram_size(self) -> int:
        """N, the length of the n-grams that it yields."""
        return self._max_rows + 1

    @property
    def tokens(self) -> list[int]:
        """Row after row, each from column 0."""
        return [token for row in self.rows for token in row]

    def depths(self) -> npt.NDArray[np.int64]:
        """Each token's position, counted from the last token's. Shape (tokens,)."""
        return geometry(len(self.rows), 0, self.columns)[0]

    def visibility(self) -> npt.NDArray[np.bool_]:
        """Attention mask among the window's tokens. Shape (tokens, tokens)."""
        return geometry(len(self.rows), 0, self.columns)[1]

    def ngrams(self, new_row: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the n-gram of each column, closed by the model's new row; none before it holds N-1 rows."""
        is_full = self.columns and len(self.rows) == self._max_rows
        return list(zip(*self.rows, new_row, strict=True)) if is_full else []

    def advance(self, new_row: Sequence[int]) -> None:
        """Append the model's new row; a full window drops its oldest."""
        if not self.columns:
            return
        self.rows.append(list(new_row))
        if len(self.rows) > self._max_rows:
            del self.rows[0]


@lru_cache(maxsize=256)
def geometry(row_count: int, start: int, stop: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return depths and visibility of a window's columns ``start`` to ``stop``, and of row 0 before them.

    The arrays are kept for the next call, and cannot be written to.
    """
    places = [(0, column) for column in range(stop)]
    places += [(row, column) for row in range(1, row_count) for column in range(start, stop)]
    rows, columns = np.asarray(places, dtype=np.int64).T
    own_column = (columns[None, :] == columns[:, None]) & (rows[None, :] <= rows[:, None])
    first_row = (rows[None, :] == 0) & (columns[None, :] <= columns[:, None])
    depths, visibility = 1 + rows + columns, own_column | first_row
    depths.setflags(write=False)
    visibility.setflags(write=False)
    return depths, visibility
