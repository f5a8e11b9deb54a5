"""CandidateExpander: finds what may follow a candidate, with probabilities of acceptance.

They are a conditional logit over what may follow a token: the candidates compete with each other and with all else. A
candidate's odds are the exponential of the sum of its evidence classes' weights, so sources that agree make each other
surer. Weights follow the gradient of the log-likelihood of what the model chose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, TypeAlias

from decoding.drafting.draft_tables import DraftTables
from decoding.drafting.source import TEXT_BOUNDARY, Evidence, Pair, PathTable, merged

MIN_PROBABILITY = 0.003
"""A candidate whose path is less probable than this is ignored."""
NO_CANDIDATE = 4.5
"""Odds of a token that nobody proposes, where a candidate of no weight has odds of one."""
RATE = 0.1
"""Learning rate: a few dozen candidates of a class are enough to change its weight."""

State: TypeAlias = tuple[PathTable, Any]
"""A table, and the state of a path in it."""


@dataclass(slots=True)
class SearchNode:
    """A token that may come next, or after another candidate.

    Attributes:
        pair: the token before it, and its own.
        before: the token before these two; ``TEXT_BOUNDARY`` if there is none.
        parent: the number of the candidate that it follows; 0 for the last token of the text.
        depth: its distance from the last token.
        probability: that the model chooses it and all candidates before it.
        evidence: the classes of the evidence for it, the first source's first.
        states: its path's states in the tables that follow paths.
    """

    pair: Pair
    before: int
    parent: int
    depth: int
    probability: float
    evidence: Evidence
    states: tuple[State, ...]


@dataclass(slots=True)
class Followers:
    """The tokens that may follow a candidate.

    Attributes:
        evidence: the evidence for each.
        odds: the odds of each, in the same order.
        total: the sum of the odds, those of a token that nobody proposes included.
        least: odds below these are ignored.
    """

    evidence: Mapping[int, Evidence]
    odds: Sequence[float]
    total: float
    least: float

    def learn(self, weights: list[float], chosen: int) -> None:
        """Update the weights by the token that the model chose here."""
        total, least = self.total, self.least
        for (token, evidence), odd in zip(self.evidence.items(), self.odds, strict=True):
            if odd > least:
                surprise = RATE * ((token == chosen) - odd / total)
                for each in evidence:
                    weights[each] += surprise


class CandidateExpander:
    """Finds the candidates after a text, one candidate's followers at a time; all follow its root, the last token."""

    def __init__(self, tables: DraftTables, text: Sequence[int], *, texts_alone: bool = False) -> None:
        """With ``texts_alone`` only paths are followed, and no table is asked that looks at the last tokens alone."""
        self._evidence_weights, self._token_tables = tables.evidence_weights, () if texts_alone else tables.token_tables
        states = tuple([(table, state) for table in tables.path_tables if (state := table.start(text))])
        # A text of one token has no pair: it stands twice.
        pair = (text[-2] if len(text) > 1 else text[-1], text[-1])
        self.root = SearchNode(pair, text[-3] if len(text) > 2 else TEXT_BOUNDARY, 0, 0, 1.0, (), states)

    def expand(
        self, candidate: SearchNode, number: int, least: float = MIN_PROBABILITY
    ) -> tuple[Followers, list[SearchNode]]:
        """Return what the tables say may follow candidate ``number``, and of it what is likelier than ``least``."""
        pair, depth = candidate.pair, candidate.depth + 1
        of_paths: dict[int, Evidence] = {}
        ahead: dict[int, tuple[State, ...]] = {}
        for table, state in candidate.states:
            for token, evidence, behind in table.proposals(state):
                of_paths[token] = of_paths[token] + evidence if token in of_paths else evidence
                if behind:
                    one = ((table, behind),)
                    ahead[token] = ahead[token] + one if token in ahead else one
        found: Mapping[int, Evidence] = of_paths
        for by_token in self._token_tables:
            found = merged(found, by_token.after(pair) if number else by_token.after_last(pair))
        for by_token in self._token_tables:
            found = by_token.weighed(found, candidate.before, pair)
        weights, odds = self._evidence_weights, list[float]()
        for evidence in found.values():
            score = 0.0
            for each in evidence:
                score += weights[each]
            odds.append(exp(score))
        total = NO_CANDIDATE + sum(odds)
        scale, last = candidate.probability / total, pair[1]
        worth = max(least, MIN_PROBABILITY) / scale
        likely = [
            SearchNode((last, token), pair[0], number, depth, odd * scale, evidence, ahead.get(token, ()))
            for (token, evidence), odd in zip(found.items(), odds, strict=True)
            if odd > worth
        ]
        return Followers(found, odds, total, MIN_PROBABILITY / scale), likely
