"""CandidateExpander: the candidates that may follow, found node by node, each with its probability of acceptance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import exp
from typing import Any, TypeAlias

from decoding.drafting.acceptance import NO_CANDIDATE
from decoding.drafting.registry import Origin, origin_of
from decoding.drafting.source import Evidence, Pair, PathTable, merged
from decoding.drafting.tables import DraftTables

MIN_PROBABILITY = 0.003
"""A candidate whose path is less probable than this is not looked at."""

State: TypeAlias = tuple[PathTable, Any]
"""A path's state in a table, behind the table."""


class Node:
    """A candidate that could be verified.

    Attributes:
        token: its token.
        parent: the node that it continues; None for the root, which is the last token.
        depth: its distance from the last token.
        evidence: the classes of the evidence for it, the first source's first; empty for the root.
        share: the probability that it is accepted if its parent is.
        probability: that it and all before it are what the model chooses.
        number: its number in the tree of candidates, once it is taken.
        children: the candidates that may follow it, once they were asked for.
        states: where its path stands in the tables that follow it.
    """

    __slots__ = ("children", "depth", "evidence", "number", "parent", "probability", "share", "states", "token")

    def __init__(
        self, token: int, parent: Node | None, depth: int, evidence: Evidence, share: float, probability: float
    ) -> None:
        self.token, self.parent, self.depth, self.evidence = token, parent, depth, evidence
        self.share, self.probability = share, probability
        self.number = 0
        self.children: list[Node] | None = None
        self.states: tuple[State, ...] = ()

    @property
    def pair(self) -> Pair:
        """Its token behind the one that it continues."""
        assert self.parent is not None
        return self.parent.token, self.token

    @property
    def origin(self) -> Origin:
        """The first source that proposes it."""
        return origin_of(self.evidence[0])


class CandidateExpander:
    """The candidates after a text, as far as they were asked for.

    Attributes:
        root: the last token.
        pair: the same behind the one before it.
        taken: the nodes that the step verifies.
    """

    def __init__(self, tables: DraftTables, text: Sequence[int], *, texts_alone: bool = False) -> None:
        """
        Args:
            tables: what the sources have learnt.
            text: the text so far; only its last few tokens are read.
            texts_alone: follow paths through texts and n-grams, and ask no table that looks at the last tokens alone.
        """
        self._acceptance, self._token_tables = tables.acceptance, () if texts_alone else tables.token_tables
        self.taken: list[Node] = []
        self.root = Node(text[-1], None, 0, (), 1.0, 1.0)
        self.pair = text[-2] if len(text) > 1 else text[-1], text[-1]
        self.root.states = tuple([(table, state) for table in tables.path_tables if (state := table.start(text))])

    def children(self, node: Node) -> list[Node]:
        """Return what may follow a node, in no order; probabilities are those of the weights at the first call."""
        if node.children is None:
            node.children = self._expand(node)
        return node.children

    def taken_only_from(self, origins: Collection[Origin]) -> frozenset[int]:
        """Return the numbers of the candidates taken that no other source has proposed."""
        return frozenset(
            node.number for node in self.taken if all(origin_of(evidence) in origins for evidence in node.evidence)
        )

    def learn(self, chosen: Sequence[int]) -> None:
        """Update the weights by what the model chose: the accepted run and the token behind it."""
        node: Node | None = self.root
        learn = self._acceptance.learn
        for token in chosen:
            if node is None or not node.children:
                return
            children, node = node.children, None
            for child in children:
                if accepted := child.token == token:
                    node = child
                learn(child.evidence, child.share, accepted=accepted)

    def _expand(self, node: Node) -> list[Node]:
        of_paths: dict[int, Evidence] = {}
        states: dict[int, tuple[State, ...]] = {}
        for table, state in node.states:
            for token, evidence, behind in table.proposals(state):
                of_paths[token] = of_paths[token] + evidence if token in of_paths else evidence
                if behind:
                    one = ((table, behind),)
                    states[token] = states[token] + one if token in states else one
        found: Mapping[int, Evidence] = of_paths
        if self._token_tables:
            pair = self.pair if node.parent is None else (node.parent.token, node.token)
            for by_token in self._token_tables:
                found = merged(found, by_token.after(pair))
        return self._weighed(node, found, states) if found else []

    def _weighed(
        self, node: Node, found: Mapping[int, Evidence], states: Mapping[int, tuple[State, ...]]
    ) -> list[Node]:
        """Return what was found after a node as far as it is likely enough to be looked at."""
        weights, total = self._acceptance.weights, NO_CANDIDATE
        odds: list[float] = []
        for evidence in found.values():
            score = 0.0
            for each in evidence:
                score += weights[each]
            score = exp(score)
            odds.append(score)
            total += score
        scale, depth = node.probability / total, node.depth + 1
        least = MIN_PROBABILITY / scale
        children = []
        for (token, evidence), odd in zip(found.items(), odds, strict=True):
            if odd >= least:
                child = Node(token, node, depth, evidence, odd / total, odd * scale)
                if token in states:
                    child.states = states[token]
                children.append(child)
        return children
