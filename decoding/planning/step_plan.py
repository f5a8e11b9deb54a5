"""StepPlan: both branches of one step, decided before its forward pass; PlainSteps: steps without drafting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from decoding.drafting.expander import CandidateExpander
from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.planning.step_cost import CostCurve, StepCost


@dataclass(slots=True)
class StepPlan:
    """Both branches of one step, made by a planner, which learns from the outcome afterwards.

    Attributes:
        position: the place of the last token in the text.
        last_token: the last token.
        window: the lookahead branch; it advances once the step is taken.
        rows: the window's rows as the step reads them.
        candidates: the verification branch.
        expander: the nodes that the candidates were selected from; None with fixed sizes.
        cost: what steps cost, for the budget; None with fixed sizes.
        rereads: the tokens that the step reads again before the last one; see :attr:`Session.rereads`.
        window_tokens: the tokens of the lookahead branch.
        forward_tokens: the tokens of the forward pass: those read again, the last one and both branches.
        is_plain: True if the step has neither candidates nor a window.
    """

    position: int
    last_token: int
    window: JacobiWindow
    rows: tuple[Sequence[int], ...]
    candidates: CandidateTree
    expander: CandidateExpander | None = None
    cost: StepCost | None = None
    rereads: int = 0
    window_tokens: int = field(init=False)
    forward_tokens: int = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        self.window_tokens = self.window.columns * len(self.rows)
        branches = len(self.candidates) + self.window_tokens
        self.forward_tokens = self.rereads + 1 + branches
        self.is_plain = not branches

    @property
    def curve(self) -> CostCurve | None:
        """The cost of this step with 0, 1, 2 … candidates as known now; None with fixed sizes."""
        return None if self.cost is None else self.cost.curve(self.rereads + 1 + self.window_tokens)

    @property
    def probabilities(self) -> tuple[float, ...]:
        """For each candidate, the estimate that it and all before it are accepted; empty with fixed sizes."""
        return tuple([node.probability for node in self.expander.taken]) if self.expander is not None else ()


def _never() -> bool:
    return False


@dataclass(slots=True)
class PlainSteps:
    """Consecutive plain steps for which no candidates are sought.

    Attributes:
        steps: their maximum number.
        is_over: called after every step but the last; True ends them early.
        forward_seconds: the times of the forward passes, the last one excluded; filled in as they run.
    """

    steps: int
    is_over: Callable[[], bool] = _never
    forward_seconds: list[float] = field(default_factory=list)
