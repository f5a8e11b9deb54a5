"""Messages between ranks: the instructions of rank 0, the part of a step in each, and the answers, as whole numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from decoding.drafting.tree import CandidateTree
from decoding.model.inputs import StepInputs
from decoding.sampling.sampler import Choices
from decoding.step import Origin

_ABANDONED = -1


@dataclass(frozen=True)
class Part:
    """One rank's part of a step.

    Attributes:
        tokens: its candidates' tokens, parents before children.
        parents: the number of each one's parent in this part; the last token is number 0.
        start: its first column of the window.
        rows: the window's first row up to the last of its columns, and its own columns of the other rows.
        width: the number of likeliest next tokens to return for each row.
    """

    tokens: list[int]
    parents: list[int]
    start: int
    rows: list[list[int]]
    width: int

    @property
    def columns(self) -> int:
        """The number of columns of its own."""
        return len(self.rows[0]) - self.start if self.rows else 0

    def tree(self) -> CandidateTree:
        """Its candidates."""
        tree = CandidateTree()
        for token, parent in zip(self.tokens, self.parents, strict=True):
            # Only rank 0, which proposed it, cares for a candidate's source.
            tree.grow(parent, token, 1 + (tree.depths[parent - 1] if parent else 0), Origin.CONTEXT)
        return tree

    def inputs(self, unread: Sequence[int], tree: CandidateTree) -> StepInputs:
        """Return the inputs of this rank's forward pass.

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
            logit_rows=[*range(last, first_of_window), *range(total - self.columns, total)],
        )

    def encode(self) -> list[int]:
        """Return whole numbers to send."""
        first = len(self.rows[0]) if self.rows else 0
        head = [self.width, len(self.tokens), len(self.rows), self.start, first]
        return [*head, *self.tokens, *self.parents, *(token for row in self.rows for token in row)]

    @classmethod
    def decode(cls, words: Sequence[int]) -> Part:
        """Read what :meth:`encode` gave."""
        width, count, row_count, start, first = words[:5]
        rest = iter(words[5:])
        tokens, parents = _next(rest, count), _next(rest, count)
        rows = [_next(rest, first - start if row else first) for row in range(row_count)]
        return cls(tokens, parents, start, rows, width)

    def __len__(self) -> int:
        """Return the number of tokens of its forward pass beside those of the text."""
        return len(self.tokens) + sum(map(len, self.rows))


@dataclass(frozen=True)
class Instruction:
    """The outcome of a rank's last step, the text as it is now, and its part of the next step, if any.

    Attributes:
        number: the step's, by which late answers to other steps are recognised.
        accepted: the candidates of its last part to keep; None if that step was abandoned.
        shared: the number of tokens of its text that are still valid.
        tail: the tokens after them.
        part: None to prefill only.
    """

    number: int
    accepted: Sequence[int] | None
    shared: int
    tail: Sequence[int]
    part: Part | None = None

    def encode(self) -> list[int]:
        """Return whole numbers to send."""
        accepted = [_ABANDONED] if self.accepted is None else [len(self.accepted), *self.accepted]
        part = [] if self.part is None else self.part.encode()
        return [self.number, *accepted, self.shared, len(self.tail), *self.tail, *part]

    @classmethod
    def decode(cls, words: Sequence[int]) -> Instruction:
        """Read what :meth:`encode` gave."""
        number, count = words[:2]
        at = 2 + max(count, 0)
        accepted = None if count == _ABANDONED else words[2:at]
        shared, length = words[at : at + 2]
        at += 2
        rest = words[at + length :]
        return cls(number, accepted, shared, words[at : at + length], Part.decode(rest) if rest else None)


def encode_choices(number: int, choices: Choices, width: int) -> list[int]:
    """Return the answer to a step: the token chosen at each row, and the likeliest ones there."""
    likely: list[int] = []
    if width:
        # A token id and the bits of its logit in one word each.
        bits = np.asarray(choices.logits, dtype=np.float32).view(np.uint32).astype(np.int64)
        likely = (np.asarray(choices.likeliest, dtype=np.int64) << 32 | bits).ravel().tolist()
    return [number, len(choices.tokens), *choices.tokens, *likely]


def decode_choices(words: Sequence[int]) -> Choices:
    """Read what :func:`encode_choices` gave; the first word is the step's number."""
    rows = words[1]
    tokens, likely = list(words[2 : 2 + rows]), np.asarray(words[2 + rows :], dtype=np.int64)
    if not len(likely):
        return Choices(tokens, [], [])
    likely = likely.reshape(rows, -1)
    logits = (likely & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    return Choices(tokens, (likely >> 32).tolist(), logits.tolist())


def _next(words: Iterator[int], count: int) -> list[int]:
    return [next(words) for _ in range(count)]


@lru_cache(maxsize=256)
def _geometry(row_count: int, start: int, stop: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return depths and visibility as of :class:`~decoding.drafting.window.JacobiWindow`, for some of its columns."""
    places = [(0, column) for column in range(stop)]
    places += [(row, column) for row in range(1, row_count) for column in range(start, stop)]
    rows, columns = np.asarray(places, dtype=np.int64).T
    own_column = (columns[None, :] == columns[:, None]) & (rows[None, :] <= rows[:, None])
    first_row = (rows[None, :] == 0) & (columns[None, :] <= columns[:, None])
    return 1 + rows + columns, own_column | first_row
