"""StepPlan: both branches of one step, decided before its forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.costs.step_cost import CostCurve
from decoding.drafting.expander import Followers
from decoding.step_detail import StepDetail


@dataclass(slots=True)
class StepPlan:
    """Both branches of one step, made by a planner, which learns from the outcome afterwards.

    Attributes:
        position: the place of the last token in the text.
        last_token: the last token.
        window: the lookahead branch; it advances once the step is taken.
        rows: the window's rows as the step reads them.
        candidates: the verification branch.
        followers: what may follow the last token and each candidate, by number; empty with fixed sizes.
        curve: the cost of this step with 0, 1, 2 … candidates; None with fixed sizes.
        rereads: the tokens that the step reads again before the last one; see :attr:`Session.rereads`.
        forward_tokens: the tokens of the forward pass: those read again, the last one and both branches.
        is_plain: True if the step has neither candidates nor a window.
    """

    position: int
    last_token: int
    window: JacobiWindow
    rows: tuple[Sequence[int], ...]
    candidates: CandidateTree
    followers: Mapping[int, Followers] = field(default_factory=dict)
    curve: CostCurve | None = None
    rereads: int = 0
    forward_tokens: int = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        branches = len(self.candidates) + self.window.columns * len(self.rows)
        self.forward_tokens = self.rereads + 1 + branches
        self.is_plain = not branches

    def detail(self, chosen: Sequence[int], accepted: Sequence[int]) -> StepDetail:
        """Return the detail of the step, before its window advances.

        Args:
            chosen: what the model chose at the last token, each candidate, and the window's last row.
            accepted: the numbers of the candidates accepted.
        """
        read = 1 + len(self.candidates)
        return StepDetail(
            self.position,
            self.last_token,
            self.rows,
            chosen[read:],
            self.window.ngram_size,
            chosen[:read],
            tuple(accepted),
            self.curve,
            self.candidates,
        )
