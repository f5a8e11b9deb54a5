"""Growth: the candidates that could follow, found node by node, each with its probability of being accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from decoding.drafting.acceptance import DEEP, TRAJECTORY, Kind, context_kind, origin_of
from decoding.drafting.tables import Tables
from decoding.step import Origin

MOST_LIKELY = 0.98
"""What the probabilities of one node's children sum to at most."""
LEAST_LIKELY = 0.003
"""A candidate less probable than this, all before it counted, is not worth looking at."""


Matches: TypeAlias = Sequence[tuple[int, int]]
"""Places in context that the path leads to, each with how many tokens match there, the longest match first."""
Tails: TypeAlias = Sequence[tuple[int, ...]]
"""What is left of the n-grams that the path has begun."""


class Node:
    """A candidate that could be verified.

    Attributes:
        token: its token.
        parent: the node that it continues; None for the root, which is the last token.
        depth: how many tokens it lies behind the last token.
        kinds: what speaks for it, one for each source that proposes it; none for the root.
        best: the kind of these that promises most.
        probability: of it and all before it being what the model chooses.
        number: its number in the tree of candidates, once it is taken.
        children: what could follow it, once that has been asked for.
    """

    __slots__ = ("best", "children", "depth", "kinds", "matches", "number", "parent", "probability", "tails", "token")

    def __init__(self, token: int, parent: Node | None, depth: int, kind: Kind, probability: float) -> None:
        self.token, self.parent, self.depth = token, parent, depth
        self.kinds, self.best, self.probability = [kind], kind, probability
        self.number = 0
        self.children: list[Node] | None = None
        # Where its path stands in the sources' tables.
        self.matches: Matches = ()
        self.tails: Tails = ()

    @property
    def origin(self) -> Origin:
        """The source that speaks most for it."""
        return origin_of(self.best)


class Growth:
    """The candidates after a text, as far as they have been asked for.

    Attributes:
        root: the last token.
        taken: the nodes that the step verifies.
    """

    def __init__(self, tables: Tables, text: Sequence[int]) -> None:
        """
        Args:
            tables: what the sources have learnt.
            text: the text so far; only its last few tokens are read.
        """
        self._tables, self._estimates = tables, tables.acceptance.estimates
        self.taken: list[Node] = []
        self.root = Node(text[-1], None, 0, 0, 1.0)
        self.root.kinds = []
        self.root.matches = tables.context.matches(text)
        self.root.tails = list(tables.trajectory.after(text[-1]))

    def children(self, node: Node) -> list[Node]:
        """What could follow a node, in no order; its probabilities are those of the estimates at the first call."""
        if node.children is None:
            node.children = self._grow(node)
        return node.children

    def taken_from(self, origin: Origin) -> frozenset[int]:
        """The numbers of the candidates taken that no other source has proposed."""
        return frozenset(node.number for node in self.taken if all(origin_of(kind) is origin for kind in node.kinds))

    def learn(self, chosen: Sequence[int]) -> None:
        """Let the estimates learn from what the model chose: the accepted run and the token behind it."""
        self._tables.acceptance.learn(self._trials(chosen))

    def _trials(self, chosen: Sequence[int]) -> Iterator[tuple[Kind, bool]]:
        node: Node | None = self.root
        for token in chosen:
            if node is None or node.children is None:
                return
            children, node = node.children, None
            for child in children:
                accepted = child.token == token
                for kind in child.kinds:
                    yield kind, accepted
                if accepted:
                    node = child

    def _grow(self, node: Node) -> list[Node]:
        estimates, depth = self._estimates, node.depth + 1
        deep = DEEP if depth > 1 else 0
        least = LEAST_LIKELY / node.probability
        if not node.matches and not node.tails:
            # Most nodes are in no table but the successors', which names no token twice.
            return _scaled(
                [
                    Node(token, node, depth, kind + deep, estimate)
                    for token, kind in self._tables.successors.after(node.token)
                    if (estimate := estimates[kind + deep]) >= least
                ],
                node.probability,
            )
        children: dict[int, Node] = {}
        for token, kind, matches, tails in self._proposals(node):
            kind += deep
            child, estimate = children.get(token), estimates[kind]
            if child is None:
                if estimate < least:
                    continue
                child = children[token] = Node(token, node, depth, kind, estimate)
            else:
                child.kinds.append(kind)
                if estimate > child.probability:
                    child.best, child.probability = kind, estimate
            child.matches, child.tails = child.matches or matches, child.tails or tails

        return _scaled(list(children.values()), node.probability)

    def _proposals(self, node: Node) -> Iterator[tuple[int, Kind, Matches, Tails]]:
        """What each source proposes after a node, a token once a source, and where that stands in its tables."""
        matches: dict[int, list[tuple[int, int]]] = {}
        for length, place in node.matches:
            token = self._tables.context.following(place)
            if token is not None:
                matches.setdefault(token, []).append((length + 1, place + 1))
        for token, ends in matches.items():
            # The longest match comes first and speaks for its token; the shorter ones behind it lead on as well.
            yield token, context_kind(ends[0][0] - 1), ends, ()
        tails: dict[int, list[tuple[int, ...]]] = {}
        for tail in node.tails:
            tails.setdefault(tail[0], []).append(tail[1:])
        for token, rests in tails.items():
            yield token, TRAJECTORY, (), [rest for rest in rests if rest]
        for token, kind in self._tables.successors.after(node.token):
            yield token, kind, (), ()


def _scaled(children: list[Node], probability: float) -> list[Node]:
    """A node's children with probabilities that count in the node's own, and sum to no more than can be."""
    total = sum([child.probability for child in children])
    scale = probability * (MOST_LIKELY / total if total > MOST_LIKELY else 1.0)
    for child in children:
        child.probability *= scale
    return children
