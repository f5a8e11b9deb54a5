"""CandidateExpander: the candidates that may follow, found node by node, each with its probability of acceptance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import exp
from typing import Any, TypeAlias

from decoding.branches.candidate_tree import CandidateTree
from decoding.drafting.registry import origin_of
from decoding.drafting.source import Evidence, Pair, PathTable, merged
from decoding.drafting.tables import NO_CANDIDATE, DraftTables
from decoding.step import Origin

MIN_PROBABILITY = 0.003
"""A candidate whose path is less probable than this is not looked at."""

State: TypeAlias = tuple[PathTable, Any]
"""A table, and the state of a path in it."""
_NONE_AHEAD: Mapping[int, tuple[State, ...]] = {}


class Node:
    """A candidate that could be verified.

    Attributes:
        token: its token.
        parent: the node that it continues; None for the root, which is the last token.
        depth: its distance from the last token.
        evidence: the classes of the evidence for it, the first source's first; empty for the root.
        probability: that it and all before it are what the model chooses.
        number: its number in the tree of candidates; 0 unless it is verified.
        states: where its path stands in the tables that follow it.
        followers: what may follow it, with the evidence for each; None before it was asked for.
        ahead: where the paths of its followers stand.
        odds: those of each follower, in the same order.
        total: the sum of the odds, those of a token that nobody proposes included.
        children: its followers that were likely enough when they were asked for.
    """

    __slots__ = (
        *("ahead", "children", "depth", "evidence", "followers", "number", "odds", "parent", "probability", "states"),
        *("token", "total"),
    )

    def __init__(self, token: int, parent: Node | None, depth: int, evidence: Evidence, probability: float) -> None:
        self.token, self.parent, self.depth, self.evidence = token, parent, depth, evidence
        self.probability = probability
        self.number = 0
        self.states: tuple[State, ...] = ()
        self.followers: Mapping[int, Evidence] | None = None
        # Most are never asked for their followers.
        self.ahead: Mapping[int, tuple[State, ...]] = _NONE_AHEAD
        self.odds: Sequence[float] = ()
        self.total = NO_CANDIDATE
        self.children: Sequence[Node] = ()

    @property
    def pair(self) -> Pair:
        """The token that it continues, and its own."""
        assert self.parent is not None
        return self.parent.token, self.token

    @property
    def share(self) -> float:
        """The probability that it is accepted if its parent is."""
        return 1.0 if self.parent is None else self.probability / self.parent.probability

    @property
    def origin(self) -> Origin:
        """The first source that proposes it."""
        return origin_of(self.evidence[0])


class CandidateExpander:
    """The candidates after a text, as far as they were asked for.

    Attributes:
        root: the last token.
        pair: the last two tokens; twice the last one where the text has no other.
        taken: the candidates that the step verifies, in the order of their numbers.
    """

    def __init__(self, tables: DraftTables, text: Sequence[int], *, texts_alone: bool = False) -> None:
        """
        Args:
            tables: what the sources have learnt.
            text: the text so far; only its last few tokens are read.
            texts_alone: follow paths through texts and n-grams, and ask no table that looks at the last tokens alone.
        """
        self._evidence_weights, self._token_tables = tables.evidence_weights, () if texts_alone else tables.token_tables
        self.root = Node(text[-1], None, 0, (), 1.0)
        self.pair = text[-2] if len(text) > 1 else text[-1], text[-1]
        self.taken: Sequence[Node] = ()
        self.root.states = tuple([(table, state) for table in tables.path_tables if (state := table.start(text))])

    def children(self, node: Node, least: float = MIN_PROBABILITY) -> list[Node]:
        """Return what may follow a node and is likelier than ``least``, in no order; each call makes the nodes anew.

        Probabilities are those of the weights when the node's followers were first asked for.
        """
        if node.followers is None:
            self._find_followers(node)
        assert node.followers is not None
        # Most are not even worth an object.
        scale, depth, children = node.probability / node.total, node.depth + 1, []
        worth = max(least, MIN_PROBABILITY) / scale
        for (token, evidence), odd in zip(node.followers.items(), node.odds, strict=True):
            if odd > worth:
                child = Node(token, node, depth, evidence, odd * scale)
                if token in node.ahead:
                    child.states = node.ahead[token]
                children.append(child)
        node.children = children
        return children

    def take(self, nodes: Sequence[Node]) -> CandidateTree:
        """Return the tree of these candidates, each given behind its parent, and note their numbers in it."""
        self.taken, tree = nodes, CandidateTree()
        for node in nodes:
            assert node.parent is not None
            node.number = tree.grow(node.parent.number, node.token, node.depth, node.origin)
        return tree

    def only_from(self, origins: Collection[Origin]) -> frozenset[int]:
        """Return the numbers of the candidates taken that no other source has proposed."""
        return frozenset(
            node.number for node in self.taken if all(origin_of(evidence) in origins for evidence in node.evidence)
        )

    def learn(self, chosen: Sequence[int]) -> None:
        """Update the weights by what the model chose: the accepted run and the token behind it."""
        node: Node | None = self.root
        learn = self._evidence_weights.learn
        for token in chosen:
            if node is None or not node.followers:
                return
            total, worth = node.total, MIN_PROBABILITY * node.total / node.probability
            for (follower, evidence), odd in zip(node.followers.items(), node.odds, strict=True):
                if odd > worth:
                    learn(evidence, odd / total, accepted=follower == token)
            node = next((child for child in node.children if child.token == token), None)

    def _find_followers(self, node: Node) -> None:
        """Ask the tables what may follow a node, and weigh it."""
        of_paths: dict[int, Evidence] = {}
        ahead: dict[int, tuple[State, ...]] = {}
        for table, state in node.states:
            for token, evidence, behind in table.proposals(state):
                of_paths[token] = of_paths[token] + evidence if token in of_paths else evidence
                if behind:
                    one = ((table, behind),)
                    ahead[token] = ahead[token] + one if token in ahead else one
        found: Mapping[int, Evidence] = of_paths
        if self._token_tables:
            pair = self.pair if node.parent is None else (node.parent.token, node.token)
            for by_token in self._token_tables:
                found = merged(found, by_token.after(pair))
        weights, odds = self._evidence_weights.weights, list[float]()
        for evidence in found.values():
            score = 0.0
            for each in evidence:
                score += weights[each]
            odds.append(exp(score))
        node.total += sum(odds)
        node.followers, node.ahead, node.odds = found, ahead, odds
