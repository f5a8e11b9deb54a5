"""SharedStepCost: what a step costs that is split over several ranks, of which each pays its share alone."""

from __future__ import annotations

from collections.abc import Callable

from decoding.planning.step_cost import CostCurve, StepCost


class SharedStepCost(StepCost):
    """The time of a step by the number of all its tokens: that of the last token and a share of the others.

    It starts from what steps cost on one rank. What the exchange takes is learnt from live steps over several tokens,
    like all else that the probe did not see; rank 0's steps speak for everyone.
    """

    def __init__(self, alone: StepCost, ranks: Callable[[], int]) -> None:
        """
        Args:
            alone: what steps cost on one rank; not changed.
            ranks: how many ranks there are.
        """
        self._ranks, self._drawn_for = ranks, ranks()
        super().__init__({int(size): seconds for size, seconds in alone.as_dict().items()}, live=alone.live)

    def curve(self, fixed: int) -> CostCurve:
        if self._drawn_for != self._ranks():
            self._drawn_for = self._ranks()
            self._curves.clear()
        return super().curve(fixed)

    def observe(self, tokens: int, seconds: float) -> None:
        super().observe(self._share(tokens), seconds)

    def _shape(self, tokens: int) -> float:
        return super()._shape(self._share(tokens))

    def _share(self, tokens: int) -> int:
        return 1 - (1 - tokens) // self._ranks() if tokens > 1 else tokens
