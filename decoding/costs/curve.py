"""CostCurve: the cost of a step by the number of its candidates, as the budget reads it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

MAX_CANDIDATES = 96
"""Maximum number of candidates in one step."""
MAX_TRIAL = 8
"""Maximum number of candidates while the cost is not trusted, so that a failed trial costs little."""
TRIAL_COST_SHARE = 0.25
"""Factor on the cost in excess of a plain step's while the cost is not trusted."""


class CostCurve:
    """The cost of a step with 0, 1, 2 … further tokens.

    Attributes:
        costs: in plain steps; not always rising.
        slopes: for each count, the least cost per token of adding any number of further tokens.
        least_slope: the least of all slopes.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        self.costs = [float(cost) for cost in costs]
        steps, counts = np.asarray(self.costs), np.arange(len(self.costs))
        more = counts[None, :] - counts[:, None]
        added = np.where(more > 0, (steps[None, :] - steps[:, None]) / np.maximum(more, 1), np.inf)
        # For the last count there is nothing to add.
        self.slopes: list[float] = added.min(axis=1).tolist()
        self.least_slope = min(self.slopes)
        self._for_trial: CostCurve | None = None

    def for_trial(self) -> CostCurve:
        """Return an optimistic, shorter curve, used to try candidates while the measured cost is not trusted.

        It ends at :data:`MAX_TRIAL` candidates, whose extra cost is scaled by :data:`TRIAL_COST_SHARE`.
        """
        if self._for_trial is None:
            first = self.costs[0]
            self._for_trial = CostCurve(
                [first + TRIAL_COST_SHARE * (cost - first) for cost in self.costs[: 1 + MAX_TRIAL]]
            )
        return self._for_trial
