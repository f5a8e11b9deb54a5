"""StepCost: the time of a step over T tokens with this model on this machine, kept up to date by live steps.

It is kept as the time of a plain step, taught by plain steps alone, and the cost of other steps in plain steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from decoding.planning.ledger import SLOWER, Ledger

MAX_STEP_TOKENS = 16_384
"""Beyond all steps that are taken or timed; the table has an entry for every size."""
MAX_CANDIDATES = 96
"""Candidates of one step, whatever they cost."""
PLAIN_WEIGHT = 0.1
"""Weight of one plain step in the time of plain steps: other programs come and go, and texts grow."""
SHAPE_WEIGHT = 0.03
"""Weight of one live step in the curve near its own size."""
EXTRA_WEIGHT = 0.01
"""Weight of one live step in the overhead of all steps over several tokens; the first count more."""
ENOUGH_STEPS = 5
"""So many plain steps in a row tell what one takes now, whatever one took before."""
STALE_STEPS = 16
"""A live step counts half where the last plain step was so many steps ago: the machine may have changed since."""
OUTLIER = 2.0
"""Slower steps count as this many times the expected time."""
EXTRA_OUTLIER = 0.25
"""The overhead follows a step at most this share beyond the expected time."""
MAX_SPREAD = 1.2
"""Measurements of one and the same step that are further apart were disturbed."""
FIRST_TRIALS = 4
"""Live steps over several tokens before the cost of such steps is believed: beside other programs it may have been
measured too high."""
DOUBT_WEIGHT = 0.5
"""Weight, for the whole curve, of a live step that is quicker than a doubted cost."""
MAX_TRIAL = 8
"""Candidates of a trial: one that fails is to cost little."""
HOPE = 0.25
"""The share of a doubted cost beyond a plain step's with which candidates are chosen."""
FIRST_REFRESHES = (4, 8, 16)
REFRESH_STEPS = 32
"""Live steps between updates of the curve that the budget uses."""


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
        self._hopeful: CostCurve | None = None

    def hopeful(self) -> CostCurve:
        """Return the curve with which a doubted measurement is tested cheaply.

        It ends at :data:`MAX_TRIAL` candidates, and what they add to the cost is scaled by :data:`HOPE`.
        """
        if self._hopeful is None:
            first = self.costs[0]
            self._hopeful = CostCurve([first + HOPE * (cost - first) for cost in self.costs[: 1 + MAX_TRIAL]])
        return self._hopeful


class StepCost:
    """Seconds of a whole step by the number of its tokens: probed first, then updated by live steps.

    Attributes:
        ledger: what guessing has saved or lost with this model on this machine.
        spread: how far apart the measurements of one and the same step were, as a factor.
    """

    def __init__(self, seconds: Mapping[int, float], *, live: bool = True, spread: float = 1.0) -> None:
        """
        Args:
            seconds: the time of a step by its number of tokens; 1 must be among them.
            live: update it with live steps; if not, steps are reproducible.
            spread: how many times as long as the least time the next one of the same step was, when it was measured.

        Raises:
            ValueError: there is no figure for one token, or one that is no positive number of seconds or tokens.
        """
        if 1 not in seconds:
            raise ValueError("a step's cost needs the seconds of a step over 1 token")
        for size, value in seconds.items():
            if size > MAX_STEP_TOKENS:
                raise ValueError(f"a step over {size} tokens is none: {MAX_STEP_TOKENS} are the most")
            if size < 1 or not 0 < value < float("inf"):
                raise ValueError(f"a step over {size} tokens cannot take {value!r} seconds")
        self._sizes = sorted(seconds)
        # A step over one token takes no longer than any other: what says so was disturbed.
        self._plain = float(min(seconds.values()))
        self._costs = [1.0, *(seconds[size] / self._plain for size in self._sizes[1:])]
        self._live, self._observed, self._plain_steps, self._since_plain = live, 0, 0, 0
        self._extra, self._several = 0.0, 0
        self._trials = FIRST_TRIALS if live else 0
        self._table: list[float] = []
        self._curves: dict[int, CostCurve] = {}
        self.ledger, self.spread = Ledger(), spread
        self._draw()

    @classmethod
    def from_dict(cls, stored: Mapping[str, float]) -> StepCost:
        """Return the cost that :meth:`as_dict` gave. Raises ValueError if it is broken."""
        try:
            return cls({int(size): float(value) for size, value in stored.items()})
        except (AttributeError, TypeError) as error:
            raise ValueError(f"not a step's cost: {error}") from error

    def as_dict(self) -> dict[str, float]:
        """Seconds by the number of tokens, as JSON keeps them."""
        return {str(size): self.seconds(size) for size in self._sizes}

    @property
    def steps_since_plain(self) -> int:
        """The live steps since the last plain one."""
        return self._since_plain

    @property
    def is_doubtful(self) -> bool:
        """True if steps over several tokens may cost less than is believed, so that one is worth a trial."""
        return self._trials > 0

    @property
    def is_rough(self) -> bool:
        """True if it was measured while the machine was busy, and live steps have not put it right yet."""
        return self.spread > MAX_SPREAD and self.is_doubtful

    @property
    def live(self) -> bool:
        """True if live steps change it."""
        return self._live

    def seconds(self, tokens: int) -> float:
        """Return the expected time of a step over so many tokens."""
        return self._shape(tokens) * self._plain

    def in_plain_steps(self, tokens: int) -> float:
        """Return the cost of a step over so many tokens, in plain steps."""
        return self._shape(tokens)

    def relative(self, most: int) -> npt.NDArray[np.float64]:
        """Return the cost of steps over 0 … ``most`` tokens, in plain steps. Shape (most + 1,)."""
        return np.asarray([self._shape(tokens) for tokens in range(most + 1)])

    def curve(self, fixed: int) -> CostCurve:
        """Return the cost with 0, 1, 2 … candidates beside ``fixed`` other tokens, the last token included."""
        curve = self._curves.get(fixed)
        if curve is None:
            costs = self.relative(fixed + MAX_CANDIDATES)
            curve = self._curves[fixed] = CostCurve(costs[fixed:].tolist())
        return curve

    def observe(self, tokens: int, seconds: float, steps: int = 1) -> None:
        """Update the cost by a live step; a single outlier moves it little.

        Args:
            steps: of steps over one token, the number of those in a row whose mean this is.
        """
        if not self._live:
            return
        self._observed += 1
        if tokens == 1:
            self._plain_steps += steps
            self._since_plain = 0
            weight = max(PLAIN_WEIGHT, steps / (1 + self._plain_steps))
            if steps < ENOUGH_STEPS:
                seconds = min(seconds, OUTLIER * self._plain)
            elif not 1 / SLOWER < seconds / self._plain < SLOWER:
                weight = 1.0
            self._plain += weight * (seconds - self._plain)
            return
        is_quicker = seconds < self._plain
        if is_quicker:
            self._lower_plain(seconds)
        right = min(bisect_left(self._sizes, tokens), len(self._sizes) - 1)
        left = right if self._sizes[right] <= tokens else max(0, right - 1)
        # Not from the table, which may be some steps old.
        expected = self._between(left, right, tokens)
        freshness = STALE_STEPS / (STALE_STEPS + self._since_plain)
        ratio = freshness * (min(seconds / (self._plain * expected), OUTLIER) - 1)
        self._since_plain += 1
        if ratio < 0 and self.is_doubtful and not is_quicker:
            self._lower_several(ratio)
        self._trials = max(0, self._trials - 1)
        for index in {left, right} - {0}:
            self._costs[index] *= 1 + SHAPE_WEIGHT * ratio
        # Bookkeeping, masks and whatever else the probe did not see.
        self._several += 1
        weight = max(EXTRA_WEIGHT, 1 / (4 + self._several))
        self._extra += weight * min(ratio, EXTRA_OUTLIER) * expected
        if self._observed % REFRESH_STEPS == 0 or self._several in FIRST_REFRESHES:
            self._draw()

    def _lower_several(self, ratio: float) -> None:
        """Let a step that was quicker than expected correct a doubted cost: what disturbs a step makes it longer."""
        self._costs = [1.0, *(max(1.0, cost * (1 + DOUBT_WEIGHT * ratio)) for cost in self._costs[1:])]
        self._draw()

    def _lower_plain(self, seconds: float) -> None:
        """Let a step over several tokens that was quicker than a plain one is expected to be bound that from above."""
        before = self._plain
        self._plain += PLAIN_WEIGHT * (seconds - before)
        self._costs = [1.0, *(cost * before / self._plain for cost in self._costs[1:])]

    def _between(self, left: int, right: int, tokens: int) -> float:
        """The cost of a step over ``tokens``, from those of the sizes to its left and right."""
        low, high = self._sizes[left], self._sizes[right]
        share = min(1.0, (tokens - low) / (high - low)) if high > low else 0.0
        beyond = self._slope * max(0, tokens - high)
        return self._costs[left] + share * (self._costs[right] - self._costs[left]) + beyond + self._beside(tokens)

    def _beside(self, tokens: int) -> float:
        """Overhead of a step over several tokens; bounded below, so that every cost stays positive."""
        return max(self._extra, -0.5) if tokens > 1 else 0.0

    def _shape(self, tokens: int) -> float:
        if tokens < len(self._table):
            return self._table[tokens]
        last = self._table[-1]
        return last + self._slope * (tokens - len(self._table) + 1)

    def _draw(self) -> None:
        """Redraw the table and drop the curves."""
        last = self._sizes[-1]
        table = np.interp(np.arange(last + 1), self._sizes, self._costs)
        table[2:] += self._beside(2)
        self._table = table.tolist()
        # Beyond what was measured, as steep as its outer half; where that was disturbed, half as steep as all of it.
        outer = (self._table[-1] - self._table[len(self._table) // 2]) / max(1, last - last // 2)
        self._slope = max(0.0, outer, (self._table[-1] - 1.0) / max(1, last - 1) / 2)
        self._curves = {}
