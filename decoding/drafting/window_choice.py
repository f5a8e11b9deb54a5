"""WindowChoice: the size of the lookahead branch that pays on this machine, possibly 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

CostOf: TypeAlias = Callable[[int], float]
"""The cost of a step over so many tokens, in plain steps."""
WINDOW_SIZES = ((0, 2), (4, 4), (7, 5), (10, 5), (15, 5))
"""W and N together, from no branch to the largest."""
CANDIDATES = 4
"""Candidates of the step in which a window has to be nearly free."""
NEARLY_FREE = 0.02
"""A window is tried if it adds no more than this share to the cost of a step."""
MAX_FIRST_COST = 1.2
"""If a step over a few tokens costs more than this, in plain steps, no window is tried: with a window every step is at
least that large, however little is guessed."""
TRIAL_STEPS = 48
"""Steps before a window is judged: it has to fill, and its n-grams to recur."""
MIN_WINDOW_GAIN = 0.06
"""Minimum gain for which a window is kept; as many extra candidates in its place would gain something, too."""


@dataclass
class WindowChoice:
    """The largest window that is nearly free here, kept while steps yield more tokens per time with it than without.

    Every step is compared with itself without the branch and without the candidates that only the branch proposed, so
    that it does not matter how predictable the text is.

    Attributes:
        sizes: W and N in force; W = 0 for no window.
    """

    sizes: tuple[int, int] = WINDOW_SIZES[0]
    _has_failed: bool = False
    _steps: int = 0
    # Of all steps with a window.
    _tokens: float = 0.0
    _cost: float = 0.0
    _tokens_without: float = 0.0
    _cost_without: float = 0.0

    def begin(self, cost_of: CostOf, ahead: int | None) -> None:
        """Choose for a text with so many positions ahead (None: any number), unless a window has failed to pay."""
        self.keep_within(ahead)
        without = cost_of(1 + CANDIDATES)
        if self._has_failed or self.sizes[0] or without > MAX_FIRST_COST:
            return
        for window, ngram in WINDOW_SIZES:
            cost = cost_of(1 + CANDIDATES + window * (ngram - 1))
            if cost <= (1 + NEARLY_FREE) * without and (ahead is None or window + ngram <= ahead):
                self.sizes = window, ngram

    def note(self, tokens: int, cost: float, tokens_without: int, cost_without: float) -> None:
        """Count a step's tokens and cost, in plain steps, with the branch and without it; drop what does not pay."""
        self._steps += 1
        self._tokens += tokens
        self._cost += cost
        self._tokens_without += tokens_without
        self._cost_without += cost_without
        least = (1 + MIN_WINDOW_GAIN) * self._tokens_without * self._cost
        if self._steps >= TRIAL_STEPS and self._tokens * self._cost_without < least:
            self.sizes, self._has_failed = WINDOW_SIZES[0], True

    def keep_within(self, ahead: int | None) -> None:
        """Drop the branch if it needs more than ``ahead`` positions; None for any number."""
        if self.sizes[0] and ahead is not None and sum(self.sizes) > ahead:
            self.sizes = WINDOW_SIZES[0]
