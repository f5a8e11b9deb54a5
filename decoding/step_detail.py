"""StepDetail: the branches of a step and what came of them, for an observer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.costs.step_cost import CostCurve
from decoding.model.step_inputs import StepInputs
from decoding.step import Origin


@dataclass(frozen=True, slots=True)
class StepDetail:
    """One step of lookahead decoding as it was decided and verified.

    It keeps references to what the step has computed anyway: until it is read it costs next to nothing.

    Attributes:
        position: the place of the last token in the text.
        last_token: the last token, the root of the tree.
        rows: the window's rows before the step, the oldest first, each of W tokens; none without a window.
        new_row: the model's choices behind the window's last row; W tokens, or none.
        ngram_size: N of the window.
        chosen: the model's choice after the last token, then after each candidate.
        accepted: the numbers of the candidates accepted, from the root; candidates are numbered from 1.
        curve: the cost of the step with 0, 1, 2 … candidates and its window, in plain steps; None with fixed sizes.
        tree: the candidates; read it through the properties.
    """

    position: int
    last_token: int
    rows: tuple[Sequence[int], ...]
    new_row: Sequence[int]
    ngram_size: int
    chosen: Sequence[int]
    accepted: Sequence[int]
    curve: CostCurve | None
    tree: CandidateTree

    @property
    def candidates(self) -> tuple[int, ...]:
        """The candidates' tokens, number 1 first."""
        return tuple(self.tree.tokens)

    @property
    def parents(self) -> tuple[int, ...]:
        """For each candidate the number of the one that it continues; 0 is the last token."""
        return tuple(self.tree.parents)

    @property
    def origins(self) -> tuple[Origin, ...]:
        """For each candidate the source that proposed it."""
        return tuple(self.tree.origins)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """For each candidate, the estimate that it and all before it are accepted; empty with fixed sizes."""
        return () if self.curve is None else tuple(self.tree.probabilities)

    @property
    def settled(self) -> tuple[int, ...]:
        """The accepted candidates and the token that the model chose behind them; a text may end among them."""
        last = self.accepted[-1] if self.accepted else 0
        return (*(self.tree.tokens[node - 1] for node in self.accepted), self.chosen[last])

    @property
    def ngrams(self) -> tuple[tuple[int, ...], ...]:
        """The n-grams that the step yielded, one a column; none while the window fills."""
        if len(self.rows) != self.ngram_size - 1:
            return ()
        return tuple(zip(*self.rows, self.new_row, strict=True))

    @property
    def visible(self) -> npt.NDArray[np.bool_]:
        """The attention mask over the step's own tokens: the last one, the candidates, the window's rows.

        Shape (T, T), row by query. Before them each token sees the whole text.
        """
        window = JacobiWindow(len(self.new_row), self.ngram_size, self.rows[0] if self.rows else ())
        for row in self.rows[1:]:
            window.advance(row)
        return StepInputs.from_branches(self.last_token, self.tree, window).visible


Observe: TypeAlias = Callable[[StepDetail], None]
