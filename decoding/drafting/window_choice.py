"""WindowChoice: the size of the lookahead branch that pays on this machine, none included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

CostOf: TypeAlias = Callable[[int], float]
"""The cost of a step over so many tokens, in plain steps."""
WINDOW_SIZES = ((0, 2), (4, 4), (7, 5), (10, 5), (15, 5))
"""W and N together, from no branch to the largest."""
TRIAL_STEPS = 48
"""Steps before a size is judged: a window has to fill, and its n-grams to recur."""
TRIAL_SHARE = 0.01
"""A larger window is tried once its trial costs no more than this share of the time spent so far."""
FREE_TRIAL = 1.0
"""Cost allowed for the first trial before any time was spent, in plain steps."""
MIN_WINDOW_GAIN = 0.06
"""The least gain at which a size on trial is kept; as many more candidates in its place would gain, too."""
MAX_LOSS = 0.02
"""A size that has stayed is left only after a loss beyond this, so that it does not oscillate."""
NEARLY_FREE = 0.02
"""A size that adds no more than this share to a step's cost is the first that is tried."""
MAX_FIRST_COST = 1.2
"""Where a step over a few tokens costs more plain steps than this, no size is tried before one is likely to pay: with a
window every step would be such a step, however little is guessed."""
WEIGHT = 0.05


@dataclass
class Rate:
    """Tokens for time, as running means over about the last twenty steps."""

    tokens: float = 0.0
    cost: float = 0.0

    def add(self, tokens: float, cost: float, weight: float) -> None:
        self.tokens += weight * (tokens - self.tokens)
        self.cost += weight * (cost - self.cost)


@dataclass
class WindowChoice:
    """Climb or descend the sizes by the gain of the lookahead branch over the same steps without it.

    Every step is compared with itself without the branch and without the candidates that only the branch proposed, so
    that it does not matter how predictable the text is.
    """

    _level: int = 0
    _on_trial: bool = False
    _steps: int = 0
    _spent: float = 0.0
    _patience: float = 1.0
    _gains: list[float] = field(default_factory=lambda: [1.0] * len(WINDOW_SIZES))
    _rate: Rate = field(default_factory=Rate)
    _rate_without: Rate = field(default_factory=Rate)

    @property
    def sizes(self) -> tuple[int, int]:
        """W and N in force; W = 0 for no window."""
        return WINDOW_SIZES[self._level]

    def begin(self, cost_of: CostOf, candidates: int, ahead: int | None) -> None:
        """Take the largest size that is nearly free here, if no step was seen yet; arguments as of :meth:`consider`."""
        without = cost_of(1 + candidates)
        if self._spent == 0 and self._level == 0 and without <= MAX_FIRST_COST:
            for level in range(len(WINDOW_SIZES) - 1, 0, -1):
                window, ngram = WINDOW_SIZES[level]
                cost = cost_of(1 + candidates + window * (ngram - 1))
                if cost <= (1 + NEARLY_FREE) * without and (ahead is None or window + ngram <= ahead):
                    self._go(level)
                    self._on_trial = True
                    return

    def note(self, tokens: int, cost: float, tokens_without: int, cost_without: float) -> None:
        """Count the tokens and the cost of a step, in plain steps, with the branch and without it."""
        self._steps += 1
        self._spent += cost
        weight = max(WEIGHT, 1 / self._steps)
        self._rate.add(tokens, cost, weight)
        self._rate_without.add(tokens_without, cost_without, weight)

    def consider(self, cost_of: CostOf, candidates: int, ahead: int | None) -> None:
        """Change the size if another is likely to pay.

        Args:
            cost_of: what steps cost here.
            candidates: the usual number of candidates of a step.
            ahead: the positions left for a window; None for any number.
        """
        self.keep_within(ahead)
        if self._steps >= TRIAL_STEPS:
            self._judge(cost_of, candidates, ahead)

    def keep_within(self, ahead: int | None) -> None:
        """Drop the branch if it needs more than ``ahead`` positions; None for any number."""
        if self._level and ahead is not None and sum(self.sizes) > ahead:
            self._go(0)

    def copy(self) -> WindowChoice:
        """Return an independent copy."""
        return replace(
            self, _gains=self._gains.copy(), _rate=replace(self._rate), _rate_without=replace(self._rate_without)
        )

    def _judge(self, cost_of: CostOf, candidates: int, ahead: int | None) -> None:
        if self._level:
            with_branch, without = self._rate.tokens / self._rate.cost, self._rate_without
            self._gains[self._level] = gain = with_branch * without.cost / max(without.tokens, 1e-9)
            least = self._gains[self._level - 1] * (1 + MIN_WINDOW_GAIN) if self._on_trial else 1 - MAX_LOSS
            if gain < least:
                self._patience *= 2
                self._go(self._level - 1)
                return
        self._on_trial = False
        if self._level + 1 < len(WINDOW_SIZES) and self._can_try(cost_of, candidates, ahead):
            self._spent = 0.0
            self._go(self._level + 1)
            self._on_trial = True

    def _can_try(self, cost_of: CostOf, candidates: int, ahead: int | None) -> bool:
        window, ngram = WINDOW_SIZES[self._level + 1]
        if ahead is not None and window + ngram > ahead:
            return False
        cost = cost_of(1 + candidates + window * (ngram - 1))
        allowed = TRIAL_SHARE * self._spent / self._patience + (FREE_TRIAL if self._patience == 1 else 0.0)
        return TRIAL_STEPS * (cost - self._rate.cost) <= allowed

    def _go(self, level: int) -> None:
        self._level, self._steps, self._on_trial = level, 0, False
