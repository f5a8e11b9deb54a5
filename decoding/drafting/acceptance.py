"""Acceptance: how often candidates of each kind were what the model chose, learnt as decoding goes on."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import TypeAlias

from decoding.step import Origin

DECAY = 0.98
"""What a trial still weighs after one more of its kind: the last fifty or so count."""
SOURCE_DECAY = 0.99
SETTLED_EVERY = 8
"""Steps after which what is expected of kinds seldom tried is brought up to date."""
PRIOR_TRIALS = 4.0
"""How many trials of its own outweigh what is expected of a kind beforehand."""

Kind: TypeAlias = int
"""What speaks for a candidate: a source, and how sure that source was. A small number, since a step asks for many."""

GAPS = (0.7, 2.0, 4.0)
"""Bounds between the classes of a successor's certainty, in nats."""
MATCHES = (1, 2, 3, 4, 8)
"""Least lengths of the classes of a match in context, in tokens."""
PLACES = 4
"""Successors of a token that are told apart by their place."""
DEEP = 32
"""Added to the kind of a candidate that follows another candidate, and not the last token."""
TRAJECTORY = PLACES * (len(GAPS) + 1) + len(MATCHES)

_EXPECTED = (
    *(0.38, 0.42, 0.55, 0.60),  # the likeliest successor, by its lead over the second
    *(0.19, 0.15, 0.12, 0.07),  # the second, by how far it was behind
    *(0.05, 0.05, 0.08, 0.06),
    *(0.03, 0.04, 0.04, 0.04),
    *(0.18, 0.38, 0.38, 0.58, 0.87),  # context, by the length of the match
    0.30,  # an n-gram of the trajectory
)
"""What to expect of a kind never tried: the rates seen on a small chat model, every prompt with fresh tables."""


def successor_kind(place: int, gap: float) -> Kind:
    """Of a successor.

    Args:
        place: 0 for the likeliest.
        gap: in nats; the lead over the second for the likeliest, for another how far behind the likeliest it was.
    """
    return place * (len(GAPS) + 1) + bisect_right(GAPS, gap)


def context_kind(match: int) -> Kind:
    """Of a token that followed in context after so many matching tokens, at least one."""
    return PLACES * (len(GAPS) + 1) + bisect_right(MATCHES, match) - 1


def origin_of(kind: Kind) -> Origin:
    """The source that a kind belongs to."""
    return _SOURCES[_SOURCE_OF[kind % DEEP]]


_SOURCES = (Origin.SUCCESSOR, Origin.CONTEXT, Origin.TRAJECTORY)
_SOURCE_OF = tuple(2 if kind == TRAJECTORY else 1 if kind >= context_kind(1) else 0 for kind in range(TRAJECTORY + 1))
"""Which of them a kind belongs to: a number is looked up faster than an enumeration's member."""


class Acceptance:
    """Decayed counts of trials and successes by kind, and how far each source as a whole keeps its promise.

    Attributes:
        estimates: by kind, the probability that such a candidate is what the model chooses, its parent being chosen.
    """

    def __init__(self) -> None:
        self.estimates: list[float] = [0.0] * (2 * DEEP)
        self._trials = [0.0] * (2 * DEEP)
        self._successes = [0.0] * (2 * DEEP)
        # By source, what was promised and what was kept: so that a source that fails is not tried kind by kind.
        self._promised = [0.0] * len(_SOURCES)
        self._kept = [0.0] * len(_SOURCES)
        self._steps = 0
        self._settle()

    def learn(self, trials: Iterable[tuple[Kind, bool]]) -> None:
        """Count a step's candidates whose parents were chosen, and whether they were chosen themselves."""
        tried = set()
        for kind, accepted in trials:
            shallow = kind % DEEP
            source = _SOURCE_OF[shallow]
            self._promised[source] = self._promised[source] * SOURCE_DECAY + _EXPECTED[shallow]
            self._kept[source] = self._kept[source] * SOURCE_DECAY + accepted
            self._trials[kind] = self._trials[kind] * DECAY + 1.0
            self._successes[kind] = self._successes[kind] * DECAY + accepted
            tried.add(kind)
        for kind in tried:
            self._estimate(kind)
        self._steps += 1
        if self._steps % SETTLED_EVERY == 0:
            self._settle()

    def copy(self) -> Acceptance:
        """Counts of their own, the same so far."""
        other = Acceptance()
        other.estimates, other._steps = self.estimates.copy(), self._steps
        other._trials, other._successes = self._trials.copy(), self._successes.copy()
        other._promised, other._kept = self._promised.copy(), self._kept.copy()
        return other

    def _settle(self) -> None:
        """What is expected of kinds seldom tried follows how their sources do."""
        for kind in range(len(_SOURCE_OF)):
            self._estimate(kind)
            self._estimate(kind + DEEP)

    def _estimate(self, kind: Kind) -> None:
        shallow = kind % DEEP
        source = _SOURCE_OF[shallow]
        keeps = min(1.0, (self._kept[source] + PRIOR_TRIALS) / (self._promised[source] + PRIOR_TRIALS))
        prior = PRIOR_TRIALS * keeps * _EXPECTED[shallow]
        self.estimates[kind] = (self._successes[kind] + prior) / (self._trials[kind] + PRIOR_TRIALS)
