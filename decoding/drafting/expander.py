"""CandidateExpander: the candidates that may follow, found node by node, each with its probability of acceptance."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

from decoding.drafting.registry import DEEP, Origin, origin_of
from decoding.drafting.source import EvidenceClass, PathTable
from decoding.drafting.tables import DraftTables

MAX_PROBABILITY = 0.98
"""The most that the probabilities of one node's children sum to."""
MIN_PROBABILITY = 0.003
"""A candidate whose path is less probable than this is not looked at."""

State: TypeAlias = tuple[int, PathTable, Any]
"""A path's state in a table, behind the table and the number of its first evidence class."""


class Node:
    """A candidate that could be verified.

    Attributes:
        token: its token.
        parent: the node that it continues; None for the root, which is the last token.
        depth: its distance from the last token.
        evidence: an evidence class for each source that proposes it; empty for the root.
        best: the one of these with the highest estimate.
        probability: that it and all before it are what the model chooses.
        number: its number in the tree of candidates, once it is taken.
        children: the candidates that may follow it, once they were asked for.
        states: where its path stands in the tables that follow it.
    """

    __slots__ = ("best", "children", "depth", "evidence", "number", "parent", "probability", "states", "token")

    def __init__(
        self, token: int, parent: Node | None, depth: int, evidence: EvidenceClass, probability: float
    ) -> None:
        self.token, self.parent, self.depth = token, parent, depth
        self.evidence, self.best, self.probability = [evidence], evidence, probability
        self.number = 0
        self.children: list[Node] | None = None
        self.states: tuple[State, ...] = ()

    @property
    def origin(self) -> Origin:
        """The source with the highest estimate for it."""
        return origin_of(self.best)


class CandidateExpander:
    """The candidates after a text, as far as they were asked for.

    Attributes:
        root: the last token.
        taken: the nodes that the step verifies.
    """

    def __init__(self, tables: DraftTables, text: Sequence[int]) -> None:
        """
        Args:
            tables: what the sources have learnt.
            text: the text so far; only its last few tokens are read.
        """
        self._acceptance, self._estimates = tables.acceptance, tables.acceptance.estimates
        self._token_tables = tables.token_tables
        self.taken: list[Node] = []
        self.root = Node(text[-1], None, 0, 0, 1.0)
        self.root.evidence = []
        states = [(first, table, table.start(text)) for first, table in tables.path_tables]
        self.root.states = tuple(state for state in states if state[2])

    def children(self, node: Node) -> list[Node]:
        """Return what may follow a node, in no order; probabilities are those of the estimates at the first call."""
        if node.children is None:
            node.children = self._expand(node)
        return node.children

    def taken_only_from(self, origins: Collection[Origin]) -> frozenset[int]:
        """Return the numbers of the candidates taken that no other source has proposed."""
        return frozenset(
            node.number for node in self.taken if all(origin_of(evidence) in origins for evidence in node.evidence)
        )

    def learn(self, chosen: Sequence[int]) -> None:
        """Update the estimates by what the model chose: the accepted run and the token behind it."""
        self._acceptance.learn(self._trials(chosen))

    def _trials(self, chosen: Sequence[int]) -> Iterator[tuple[EvidenceClass, bool]]:
        node: Node | None = self.root
        for token in chosen:
            if node is None or node.children is None:
                return
            children, node = node.children, None
            for child in children:
                accepted = child.token == token
                for evidence in child.evidence:
                    yield evidence, accepted
                if accepted:
                    node = child

    def _expand(self, node: Node) -> list[Node]:
        estimates, depth = self._estimates, node.depth + 1
        deep = DEEP if depth > 1 else 0
        least = MIN_PROBABILITY / node.probability
        if not node.states and len(self._token_tables) == 1:
            # Most nodes are in one table alone, which names no token twice.
            ((first, only),) = self._token_tables
            shift, alone = first + deep, list[Node]()
            for token, evidence in only.after(node.token):
                evidence += shift
                if (estimate := estimates[evidence]) >= least:
                    alone.append(Node(token, node, depth, evidence, estimate))
            return _scaled(alone, node.probability)
        children: dict[int, Node] = {}
        for token, evidence, state in self._proposals(node):
            evidence += deep
            child, estimate = children.get(token), estimates[evidence]
            if child is None:
                if estimate < least:
                    continue
                child = children[token] = Node(token, node, depth, evidence, estimate)
            else:
                child.evidence.append(evidence)
                if estimate > child.probability:
                    child.best, child.probability = evidence, estimate
            if state is not None:
                child.states += (state,)
        return _scaled(list(children.values()), node.probability)

    def _proposals(self, node: Node) -> Iterator[tuple[int, EvidenceClass, State | None]]:
        """Yield what each source proposes after a node, a token once a source, with the state that it leads to."""
        for first, table, state in node.states:
            for token, evidence, behind in table.proposals(state):
                yield token, first + evidence, (first, table, behind) if behind else None
        for first, by_token in self._token_tables:
            for token, evidence in by_token.after(node.token):
                yield token, first + evidence, None


def _scaled(children: list[Node], probability: float) -> list[Node]:
    """Multiply the probabilities of a node's children by its own, after scaling them to a sum of less than 1."""
    total = 0.0
    for child in children:
        total += child.probability
    scale = probability * (MAX_PROBABILITY / total if total > MAX_PROBABILITY else 1.0)
    for child in children:
        child.probability *= scale
    return children
