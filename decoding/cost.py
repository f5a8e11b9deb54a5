"""StepCost: what a step over T tokens takes on this machine with this model, kept up to date by live steps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

MOST_CANDIDATES = 96
"""Candidates that a step verifies at most, whatever they cost."""
LEVEL_WEIGHT = 0.1
"""How much one live step moves the level of the whole curve: other programs come and go."""
SHAPE_WEIGHT = 0.03
"""How much one live step moves the curve near its own size."""
OUTLIER = 2.0
"""A step that took this many times what was expected counts as no more."""
REFRESH_STEPS = 32
"""The curve that the budget works with is drawn anew once in so many live steps."""


class CostCurve:
    """What a step costs with 0, 1, 2 … further tokens.

    Attributes:
        costs: in plain steps; not always rising.
        slopes: for each count, the least that any number of further tokens adds to the cost, each.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        self.costs = [float(cost) for cost in costs]
        steps = np.asarray(self.costs)
        # For the last count there is nothing to add.
        self.slopes = [
            float(((steps[count + 1 :] - steps[count]) / np.arange(1, len(steps) - count)).min())
            for count in range(len(steps) - 1)
        ] + [float("inf")]


class StepCost:
    """Seconds of a whole step by the number of its tokens: probed first, then kept up to date by live steps."""

    def __init__(self, seconds: Mapping[int, float], *, live: bool = True) -> None:
        """
        Args:
            seconds: the time of a step over so many tokens; 1 must be among them.
            live: whether live steps change it; without, steps are reproducible.

        Raises:
            ValueError: there is no figure for one token, or a figure is not a positive number.
        """
        if 1 not in seconds or not all(0 < value < float("inf") for value in seconds.values()):
            raise ValueError("a step's cost takes positive seconds by the number of tokens, 1 among them")
        self._sizes = sorted(seconds)
        self._seconds = [float(seconds[size]) for size in self._sizes]
        self._live, self._level, self._observed = live, 1.0, 0
        self._table: list[float] = []
        self._curves: dict[int, CostCurve] = {}
        self._draw()

    @classmethod
    def from_dict(cls, stored: Mapping[str, float]) -> StepCost:
        """What :meth:`as_dict` gave. Raises ValueError if it is broken."""
        try:
            return cls({int(size): float(value) for size, value in stored.items()})
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a step's cost: {error}") from error

    def as_dict(self) -> dict[str, float]:
        """Seconds by the number of tokens, as JSON keeps them."""
        return {str(size): value * self._level for size, value in zip(self._sizes, self._seconds, strict=True)}

    def seconds(self, tokens: int) -> float:
        """The time that a step over so many tokens is expected to take."""
        return self._shape(tokens) * self._level

    def relative(self, most: int) -> npt.NDArray[np.float64]:
        """The cost of steps over 0 … ``most`` tokens, in plain steps. Shape (most + 1,)."""
        return np.asarray([self._shape(tokens) / self._table[1] for tokens in range(most + 1)])

    def curve(self, fixed: int) -> CostCurve:
        """What a step costs with 0, 1, 2 … candidates beside ``fixed`` other tokens, the last token among them."""
        curve = self._curves.get(fixed)
        if curve is None:
            costs = self.relative(fixed + MOST_CANDIDATES)
            curve = self._curves[fixed] = CostCurve(costs[fixed:].tolist())
        return curve

    def observe(self, tokens: int, seconds: float) -> None:
        """Let a live step move what is known; a single outlier moves it little."""
        if not self._live:
            return
        ratio = min(seconds / self.seconds(tokens), OUTLIER) - 1
        self._level *= 1 + LEVEL_WEIGHT * ratio
        right = min(bisect_left(self._sizes, tokens), len(self._sizes) - 1)
        for index in {right, right if self._sizes[right] <= tokens else max(0, right - 1)}:
            self._seconds[index] *= 1 + SHAPE_WEIGHT * ratio
        self._observed += 1
        if self._observed % REFRESH_STEPS == 0:
            self._draw()

    def _shape(self, tokens: int) -> float:
        if tokens < len(self._table):
            return self._table[tokens]
        last = self._table[-1]
        return last + self._slope * (tokens - len(self._table) + 1)

    def _draw(self) -> None:
        """Interpolate anew."""
        last = self._sizes[-1]
        self._table = np.interp(np.arange(last + 1), self._sizes, self._seconds).tolist()
        # Beyond what was measured, as steep as its outer half.
        self._slope = max(0.0, (self._table[-1] - self._table[len(self._table) // 2]) / max(1, last - last // 2))
        self._curves = {}
