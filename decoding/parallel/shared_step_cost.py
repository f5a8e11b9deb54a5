"""SharedStepCost: the cost of a step that several ranks split; each pays for its own share alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from decoding.costs.curve import MAX_CANDIDATES, CostCurve
from decoding.costs.step_cost import StepCost
from decoding.parallel.ranks import PeerRanks
from decoding.planning.cost_probe import step_cost_of
from decoding.runner import runner_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class SharedStepCost(StepCost):
    """Seconds of a split step by the number of all its tokens: a share of them, and the last token on every rank.

    It starts from the cost of steps on one rank. The time of the exchange is learnt from live steps over several
    tokens, like everything else that the measurement did not see; rank 0's steps stand for all.
    """

    def __init__(self, alone: StepCost, ranks: Callable[[], int]) -> None:
        """
        Args:
            alone: the cost of steps on one rank; not changed.
            ranks: returns the number of ranks.
        """
        super().__init__({int(size): seconds for size, seconds in alone.as_dict().items()}, live=alone.live)
        self._ranks = ranks
        self._shared_curves: dict[int, CostCurve] = {}

    def seconds(self, tokens: int) -> float:
        return super().seconds(self._share(tokens))

    def relative(self, most: int) -> npt.NDArray[np.float64]:
        shares = [self._share(tokens) for tokens in range(most + 1)]
        return super().relative(max(shares))[shares]

    def curve(self, fixed: int) -> CostCurve:
        costs = self.relative(fixed + MAX_CANDIDATES)[fixed:].tolist()
        curve = self._shared_curves.get(fixed)
        if curve is None or curve.costs != costs:
            curve = self._shared_curves[fixed] = CostCurve(costs)
        return curve

    def observe(self, tokens: int, seconds: float, steps: int = 1) -> None:
        super().observe(self._share(tokens), seconds, steps)

    def _share(self, tokens: int) -> int:
        return 1 - (1 - tokens) // self._ranks() if tokens > 1 else tokens


def shared_step_cost_of(model: PreTrainedModel, workers: PeerRanks, *, compiled: bool | str = False) -> StepCost:
    """Return the cost of steps that these ranks share, begun from that of one rank and kept by the model's runner.

    Raises:
        NotImplementedError: the model supports no steps over several branches.
    """
    alone = step_cost_of(model, compiled=compiled)
    costs = runner_of(model).step_costs
    if (compiled, True) not in costs:
        costs[compiled, True] = SharedStepCost(alone, lambda: workers.ranks)
    return costs[compiled, True]
