"""StepCost: the time of a step over T tokens with this model on this machine, updated by live steps; and its curve.

Stored are the seconds of a plain step behind :data:`PROBE_CONTEXT` tokens, updated by plain steps alone; the cost of
longer steps relative to it ("in plain steps"); and, measured once, what attention adds by the length of the context,
and by how much a longer step makes the plain ones after it late.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from decoding.arguments import as_whole, check_kind, check_number, shown

PROBE_CONTEXT = 200
"""Length of the context behind which steps are measured."""
CONTEXT_BUCKET = 64
"""Tokens by which a text grows between updates of the table."""
MAX_CANDIDATES = 96
"""Maximum number of candidates in one step."""
MAX_TRIAL = 8
"""Maximum number of candidates while the cost is not trusted, so that a failed trial costs little."""
TRIAL_COST_SHARE = 0.25
"""Factor on the cost in excess of a plain step's while the cost is not trusted."""
MAX_STEP_TOKENS = 16_384
"""Largest step size accepted: the cost table has an entry for every size up to the largest one measured."""
PLAIN_WEIGHT = 0.1
"""Weight of one plain step in the moving average of a plain step's time."""
SHAPE_WEIGHT = 0.03
"""Weight of one live step in the measured sizes next to its own."""
OUTLIER = 2.0
"""Cap on a step's time, as a multiple of the expected time."""
MAX_SPREAD = 1.2
"""Ratio between two measurements of one step size above which they count as disturbed by other programs."""
FIRST_TRIALS = 4
"""Live steps over several tokens before the probe's costs are trusted: other programs may have inflated them."""
DOUBT_WEIGHT = 0.5
"""Weight, for the whole curve, of a live step that beats a cost not trusted yet."""
RELAXATION = 0.25
"""Share of what live steps have added to a measured cost that a new text takes off again: other programs may have made
them late, and sizes that do not seem to pay are not taken, so that nothing would correct them."""
REFRESH_STEPS = 32
"""Live steps over several tokens between updates of the table and the curves."""
OPENING = 2.0
"""The balance of a model that has taken no steps, and the most that a text begins with."""


_FURTHER = ("attention", "attention of each further token", "aftermath")
"""The names of the seconds that are stored beside those of steps by their tokens."""


class StepCost:
    """Seconds of a whole step by the number of its tokens: probed first, then updated by live steps.

    It is a value: :class:`~decoding.planning.account.Account` books live steps, and updates it.

    Attributes:
        live: True if live steps change it.
        spread: the largest ratio between two measurements of one step size; 1 is noiseless.
        balance: the loss that guessing may still cause with this model on this machine, in plain steps.
        overhead: seconds of a plain step outside the model, while no candidates are sought.
        steps_since_plain: the live steps since a plain one was timed.
    """

    def __init__(
        self,
        seconds: Mapping[int, float],
        *,
        attention: tuple[float, float] = (0.0, 0.0),
        aftermath: float = 0.0,
        live: bool = True,
        spread: float = 1.0,
    ) -> None:
        """
        Args:
            seconds: the time of a step by its number of tokens; 1 must be among them.
            attention: the seconds that one more token of context adds to a plain step, and to each further token.
            aftermath: the seconds by which each further token makes the next plain steps late; in ``seconds`` already.
            live: update it with live steps; if not, steps are reproducible.
            spread: the ratio of the second-shortest to the shortest time measured for one step size.

        Raises:
            ValueError: the figure for one token is missing, a number of seconds or tokens is not positive, a number of
                tokens is not whole, or an argument is of another kind.
        """
        check_kind(seconds, Mapping, "the seconds of steps", required=True)
        if 1 not in seconds:
            raise ValueError("a step's cost needs the seconds of a step over 1 token")
        for size, value in seconds.items():
            as_whole(size, "a step's number of tokens")
            check_number(value, f"the seconds of a step over {size} tokens")
            if size > MAX_STEP_TOKENS:
                raise ValueError(f"a step holds at most {MAX_STEP_TOKENS} tokens, not {size}")
            if size < 1 or not 0 < value < float("inf"):
                raise ValueError(f"a step over {size} tokens cannot take {value!r} seconds")
        check_number(spread, "spread")
        if not isinstance(attention, Sequence) or len(attention) != 2:
            raise ValueError(f"attention must be two numbers of seconds, not {shown(attention)}")
        self._sizes = sorted(seconds)
        for name, value in zip(_FURTHER, (*attention, aftermath), strict=True):
            check_number(value, f"the seconds of {name}")
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} cannot take {value!r} seconds")
        # A plain step is never slower than a longer one; a measurement that says so was disturbed.
        self._plain = float(min(seconds.values()))
        # In plain steps, too: what makes steps slower makes all of them slower.
        self._attention = attention[0] / self._plain, attention[1] / self._plain
        self._aftermath = aftermath / self._plain
        self._further_context = 0
        self._costs = [1.0, *(seconds[size] / self._plain for size in self._sizes[1:])]
        self._measured = self._costs.copy()
        self._observed = 0
        self._trials = FIRST_TRIALS if live else 0
        self._table: list[float] = []
        self._curves: dict[int, CostCurve] = {}
        self.live, self.spread = live, spread
        self.balance, self.overhead, self.steps_since_plain = OPENING, 5e-5, 0
        self._update_table()

    @classmethod
    def from_dict(cls, stored: Mapping[str, float]) -> StepCost:
        """Return the cost that :meth:`as_dict` gave. Raises ValueError if it is broken."""
        return cls(**figures_of(stored))

    def copy(self) -> Self:
        """Return an independent cost in the same state."""
        other = copy(self)
        other._costs = self._costs.copy()
        return other

    def as_dict(self) -> dict[str, float]:
        """Return the seconds by number of tokens, and further ones by name, with keys as JSON has them."""
        seconds = {str(size): self._plain * cost for size, cost in zip(self._sizes, self._costs, strict=True)}
        further = zip(_FURTHER, (*self._attention, self._aftermath), strict=True)
        return seconds | {name: self._plain * cost for name, cost in further if cost}

    @property
    def is_doubtful(self) -> bool:
        """True while the probe's costs of longer steps are not trusted; see :meth:`CostCurve.for_trial`."""
        return self._trials > 0

    @property
    def is_rough(self) -> bool:
        """True if it was measured while the machine was busy, and live steps have not corrected it yet."""
        return self.spread > MAX_SPREAD and self.is_doubtful

    def begin_text(self) -> None:
        """Believe what live steps have added to the measured costs less, and cap the balance of earlier texts."""
        # What one text has saved must not allow the next to lose as much.
        self.balance = min(self.balance, OPENING)
        both = zip(self._costs, self._measured, strict=True)
        costs = [cost - RELAXATION * max(0.0, cost - measured) for cost, measured in both]
        if costs != self._costs:
            self._costs = costs
            self._update_table()

    def move_to(self, context: int) -> None:
        """Have costs be those of steps behind a context of so many tokens, until the next call."""
        further = max(0, context - PROBE_CONTEXT) // CONTEXT_BUCKET * CONTEXT_BUCKET
        if further != self._further_context and any(self._attention):
            self._further_context = further
            self._update_table()

    def seconds(self, tokens: int) -> float:
        """Return the expected time of a step over so many tokens."""
        return self.in_plain_steps(tokens) * self._plain * self._growth

    def aftermath(self, tokens: int) -> float:
        """Return the seconds by which a step over so many tokens makes the next plain steps late."""
        return self._aftermath * (tokens - 1) * self._plain

    def in_plain_steps(self, tokens: int) -> float:
        """Return the cost of a step over so many tokens, in plain steps."""
        if tokens < len(self._table):
            return self._table[tokens]
        return self._table[-1] + self._slope * (tokens - len(self._table) + 1)

    def relative(self, most: int) -> npt.NDArray[np.float64]:
        """Return the cost of steps over 0 … ``most`` tokens, in plain steps. Shape (most + 1,)."""
        return np.asarray([self.in_plain_steps(tokens) for tokens in range(most + 1)])

    def curve(self, fixed: int) -> CostCurve:
        """Return the cost with 0, 1, 2 … candidates beside ``fixed`` other tokens, the last token included."""
        curve = self._curves.get(fixed)
        if curve is None:
            costs = self.relative(fixed + MAX_CANDIDATES)
            curve = self._curves[fixed] = CostCurve(costs[fixed:].tolist())
        return curve

    def observe(self, tokens: int, seconds: float, steps: int = 1) -> None:
        """Update the cost by a live step, its aftermath included, or by the mean of some plain steps in a row."""
        if not self.live:
            return
        growth = self._growth
        if tokens == 1:
            self.steps_since_plain = 0
            seconds /= growth
            if steps == 1:
                seconds = min(seconds, OUTLIER * self._plain)
            self._plain += min(1.0, PLAIN_WEIGHT * steps) * (seconds - self._plain)
            return
        self.steps_since_plain += 1
        right = min(bisect_left(self._sizes, tokens), len(self._sizes) - 1)
        left = right if self._sizes[right] <= tokens else max(0, right - 1)
        # Computed afresh: the table may be some steps old.
        ratio = min(seconds / (self._plain * growth * self._between(left, right, tokens)), OUTLIER) - 1
        if ratio < 0 and self.is_doubtful and seconds > self._plain * growth:
            # Disturbances only make steps longer.
            self._costs = [1.0, *(max(1.0, cost * (1 + DOUBT_WEIGHT * ratio)) for cost in self._costs[1:])]
            self._measured = self._costs.copy()
            self._update_table()
        self._trials = max(0, self._trials - 1)
        for index in {left, right} - {0}:
            self._costs[index] *= 1 + SHAPE_WEIGHT * ratio
        self._observed += 1
        if self._observed % REFRESH_STEPS == 0:
            self._update_table()

    def _between(self, left: int, right: int, tokens: int) -> float:
        """The cost of a step over ``tokens``, from those of the sizes to its left and right."""
        low, high = self._sizes[left], self._sizes[right]
        share = min(1.0, (tokens - low) / (high - low)) if high > low else 0.0
        between = self._costs[left] + share * (self._costs[right] - self._costs[left])
        return self._behind_context(min(tokens, high), between) + self._slope * max(0, tokens - high)

    @property
    def _growth(self) -> float:
        """A plain step's time behind the present context, as a multiple of that behind PROBE_CONTEXT."""
        return 1 + self._attention[0] * self._further_context

    def _behind_context(self, tokens: int, cost: float) -> float:
        """Return what a step of this cost behind PROBE_CONTEXT costs behind the present context."""
        alone, each = self._attention
        return (cost + (alone + each * (tokens - 1)) * self._further_context) / self._growth

    def _update_table(self) -> None:
        """Recompute the table of costs, and drop the curves made from the old one."""
        last = self._sizes[-1]
        costs = np.interp(np.arange(last + 1), self._sizes, self._costs).tolist()
        self._table = [self._behind_context(max(1, tokens), cost) for tokens, cost in enumerate(costs)]
        # Extrapolate with the slope of the outer half, but at least half of the overall slope (noise may flatten it).
        outer = (self._table[-1] - self._table[len(self._table) // 2]) / max(1, last - last // 2)
        self._slope = max(0.0, outer, (self._table[-1] - 1.0) / max(1, last - 1) / 2)
        self._curves = {}


def figures_of(stored: Mapping[str, float]) -> dict[str, Any]:
    """Return the arguments of :class:`StepCost` that :meth:`StepCost.as_dict` gave. Raises ValueError if broken."""
    try:
        seconds = {key: float(value) for key, value in stored.items()}
        one, each, aftermath = [seconds.pop(name, 0.0) for name in _FURTHER]
        by_size = {int(size): value for size, value in seconds.items()}
    except (AttributeError, TypeError) as error:
        raise ValueError(f"not a step's cost: {error}") from error
    return {"seconds": by_size, "attention": (one, each), "aftermath": aftermath}


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
