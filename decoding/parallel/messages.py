"""Messages from rank 0: its instructions, and the part of a step in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import geometry
from decoding.model.inputs import StepInputs
from decoding.step import Origin


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
        visible[last:first_of_window, last:first_of_window] = tree.ancestry()
        depths = [*range(last + 1), *(last + depth for depth in tree.depths)]
        if window:
            window_depths, window_visible = geometry(len(self.rows), self.start, len(self.rows[0]))
            visible[first_of_window:, last] = True
            visible[first_of_window:, first_of_window:] = window_visible
            depths += (window_depths + last).tolist()
        return StepInputs(
            token_ids=[*unread, *tree.tokens, *window],
            depths=depths,
            mask=visible.tobytes(),
            logit_rows=[*range(last, first_of_window), *range(total - self.columns, total)],
        )

    def __len__(self) -> int:
        """Return the number of tokens of its forward pass beside those of the text."""
        return len(self.tokens) + sum(map(len, self.rows))


@dataclass(frozen=True)
class Instruction:
    """The outcome of a rank's last step, the text as it is now, and its part of the next step, if any.

    Attributes:
        number: the step's, to recognise late answers to other steps.
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
