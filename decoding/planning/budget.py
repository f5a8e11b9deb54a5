"""Candidate budget: the candidates, possibly none, that maximise expected tokens per second."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.branches.candidate_tree import CandidateTree
from decoding.costs.step_cost import MAX_CANDIDATES, CostCurve
from decoding.drafting.expander import CandidateExpander, Node

PRICED_TOKENS = 16
"""Candidates up to which the cost of a token that is read again is measured."""


def select(expander: CandidateExpander, curve: CostCurve, max_depth: int) -> CandidateTree:
    """Return the candidate tree that maximises the expected tokens per unit of step time.

    Candidates are taken in order of p, the probability that they and all their ancestors are accepted. The count k
    maximises (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: expands the tree of possible continuations, each with its probability.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the maximum depth of the tree.

    Returns:
        The candidates taken, likeliest first.
    """
    cost, slopes, least_slope = curve.costs, curve.slopes, curve.least_slope
    most = len(cost) - 1
    taken: list[Node] = []
    count, expected, best, best_count = 0, 1.0, 1.0 / cost[0], 0
    # Candidates by their probability, the likeliest first.
    waiting: list[tuple[float, int, Node]] = []
    met, node = 0, expander.root
    while count < most:
        if node.depth < max_depth:
            # The best ratio never falls, so a candidate that cannot raise the present one is not even queued.
            for child in expander.children(node, best * least_slope):
                met += 1
                heappush(waiting, (-child.probability, met, child))
        # The head of the queue is the likeliest candidate left: if it cannot raise the ratio, none can.
        if not waiting or -waiting[0][0] <= best * slopes[count]:
            break
        node = heappop(waiting)[2]
        taken.append(node)
        count += 1
        expected += node.probability
        if expected > best * cost[count]:
            best, best_count = expected / cost[count], count
        # Neither queued candidates nor descendants are likelier than this one.
        if node.probability <= best * slopes[count]:
            break
    return expander.take(taken[:best_count])


def select_chain(expander: CandidateExpander, curve: CostCurve, max_depth: int, rereading: int | None) -> CandidateTree:
    """Return the one chain of candidates that maximises the expected tokens per unit of step time.

    With p₁ ≥ … ≥ pₖ as for :func:`select`, it maximises (1 + p₁ + … + pₖ) / (cost(k) + price · again). Here ``again``
    is the number of tokens that the next step is expected to read again: unless all of the chain is accepted, those
    that this step reads before the candidates, and the accepted ones.

    Args:
        expander, curve, max_depth: as for :func:`select`.
        rereading: the tokens that this step reads before its candidates; None where none are ever read again.
    """
    cost, price = curve.costs, 0.0 if rereading is None else _price(curve)
    most, before = min(max_depth, len(cost) - 1), rereading or 0
    best, leaf = 1.0 / cost[0], expander.root
    # Candidates by their probability, the likeliest first, with the tokens expected from their parent's chain.
    waiting: list[tuple[float, int, Node, float]] = []
    met, node, expected = 0, expander.root, 1.0
    for _ in range(MAX_CANDIDATES):
        if node.depth < most and node.probability > best * curve.slopes[node.depth]:
            # A candidate that is less likely can raise no chain's ratio.
            for child in expander.children(node, best * curve.least_slope):
                met += 1
                heappush(waiting, (-child.probability, met, child, expected))
        if not waiting or -waiting[0][0] <= best * curve.least_slope:
            break
        _, _, node, expected = heappop(waiting)
        likely, depth = node.probability, node.depth
        expected += likely
        again = (1.0 - likely) * before + (expected - 1.0) - depth * likely
        if expected > best * (cost[depth] + price * again):
            best, leaf = expected / (cost[depth] + price * again), node
    chain: list[Node] = []
    while leaf.parent is not None:
        chain.insert(0, leaf)
        leaf = leaf.parent
    return expander.take(chain)


def _price(curve: CostCurve) -> float:
    """Return the cost of one token more in a step over several."""
    last = min(PRICED_TOKENS, len(curve.costs) - 1)
    return max(0.0, (curve.costs[last] - curve.costs[1]) / (last - 1)) if last > 1 else 0.0
