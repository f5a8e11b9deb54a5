"""Acceptance: how often candidates of each evidence class were accepted, learnt as decoding goes on."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from decoding.drafting.registry import DEEP, PRIORS, SOURCE_OF, SOURCES
from decoding.drafting.source import EvidenceClass

DECAY = 0.98
"""The weight of a trial after one more of its class: the last fifty or so count."""
SOURCE_DECAY = 0.99
REFRESH_STEPS = 8
"""Steps between updates of the estimates of classes that were not tried."""
PRIOR_TRIALS = 4.0
"""The weight of a prior, in trials."""


class Acceptance:
    """Decayed counts of trials and successes by evidence class, and by source how far its priors hold.

    Attributes:
        estimates: by evidence class, the probability that such a candidate is accepted if its parent is.
    """

    def __init__(self) -> None:
        self.estimates: list[float] = [0.0] * (2 * DEEP)
        self._trials = [0.0] * (2 * DEEP)
        self._successes = [0.0] * (2 * DEEP)
        # By source, so that one that fails is not tried class by class.
        self._expected = [0.0] * len(SOURCES)
        self._accepted = [0.0] * len(SOURCES)
        self._steps = 0
        self._refresh()

    def learn(self, trials: Iterable[tuple[EvidenceClass, bool]]) -> None:
        """Count a step's candidates whose parents were accepted, and whether they were accepted themselves."""
        tried = set()
        for evidence, accepted in trials:
            shallow = evidence % DEEP
            source = SOURCE_OF[shallow]
            self._expected[source] = self._expected[source] * SOURCE_DECAY + PRIORS[shallow]
            self._accepted[source] = self._accepted[source] * SOURCE_DECAY + accepted
            self._trials[evidence] = self._trials[evidence] * DECAY + 1.0
            self._successes[evidence] = self._successes[evidence] * DECAY + accepted
            tried.add(evidence)
        for evidence in tried:
            self._estimate(evidence)
        self._steps += 1
        if self._steps % REFRESH_STEPS == 0:
            self._refresh()

    def copy(self) -> Acceptance:
        """Return independent counts, the same so far."""
        other = Acceptance()
        other.estimates, other._steps = self.estimates.copy(), self._steps
        other._trials, other._successes = self._trials.copy(), self._successes.copy()
        other._expected, other._accepted = self._expected.copy(), self._accepted.copy()
        return other

    def entries(self) -> list[list[float]]:
        """Return the counts, to be saved."""
        return [self._trials, self._successes, self._expected, self._accepted]

    def restore(self, entries: Any) -> None:
        """Take over what :meth:`entries` gave, unless the classes have changed since. Raises ValueError if broken."""
        counts = [[float(count) for count in row] for row in entries]
        if not all(0 <= count < inf for row in counts for count in row):
            raise ValueError("a count is negative or endless")
        if [len(row) for row in counts] == [len(row) for row in self.entries()]:
            self._trials, self._successes, self._expected, self._accepted = counts
            self._refresh()

    def _refresh(self) -> None:
        for evidence in range(2 * DEEP):
            self._estimate(evidence)

    def _estimate(self, evidence: EvidenceClass) -> None:
        shallow = evidence % DEEP
        source = SOURCE_OF[shallow]
        kept = min(1.0, (self._accepted[source] + PRIOR_TRIALS) / (self._expected[source] + PRIOR_TRIALS))
        prior = PRIOR_TRIALS * kept * PRIORS[shallow]
        self.estimates[evidence] = (self._successes[evidence] + prior) / (self._trials[evidence] + PRIOR_TRIALS)
