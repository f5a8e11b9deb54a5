"""EvidenceWeights: how much each kind of evidence says for a candidate, learnt as decoding goes on."""

from __future__ import annotations

from typing import Any

from decoding.drafting.registry import WEIGHTS
from decoding.drafting.source import Evidence

RATE = 0.1
"""Step of the gradient descent: a few dozen candidates of a class change its weight for good."""
NO_CANDIDATE = 4.5
"""Odds of a token that nobody proposes, where a candidate of no weight has odds of one."""
MAX_WEIGHT = 50.0


class EvidenceWeights:
    """Conditional logit over what may follow a token: the candidates compete with each other and with all else.

    A candidate's odds are the exponential of the sum of its evidence classes' weights, so sources that agree make each
    other surer. Weights follow the gradient of the log-likelihood of what the model chose.

    Attributes:
        weights: by evidence class.
    """

    def __init__(self) -> None:
        self.weights: list[float] = list(WEIGHTS)

    def learn(self, evidence: Evidence, expected: float, *, accepted: bool) -> None:
        """Learn from a candidate whose parent was accepted.

        Args:
            evidence: its classes.
            expected: the probability of acceptance that it was given.
            accepted: True if it was the model's choice.
        """
        weights, surprise = self.weights, RATE * (accepted - expected)
        for each in evidence:
            weights[each] += surprise

    def copy(self) -> EvidenceWeights:
        """Return independent weights, the same so far."""
        other = EvidenceWeights()
        other.weights = self.weights.copy()
        return other

    def restore(self, weights: Any) -> None:
        """Take over :attr:`weights`, unless the classes have changed since. Raises ValueError if they are broken."""
        given = [float(weight) for weight in weights]
        if not all(-MAX_WEIGHT < weight < MAX_WEIGHT for weight in given):
            raise ValueError("a weight is beyond all bounds")
        if len(given) == len(self.weights):
            self.weights = given
