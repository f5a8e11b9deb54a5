"""The budget: as many candidates as make the most of a step's time, which may be none."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.drafting.expander import CandidateExpander, Node
from decoding.drafting.tree import CandidateTree
from decoding.planning.step_cost import CostCurve


def select(expander: CandidateExpander, curve: CostCurve, max_depth: int) -> CandidateTree:
    """Take the likeliest candidates, as many as maximise the tokens expected for the time of the step.

    With candidates in order of their path's probability p, that is the count k that maximises
    (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: what may follow the text.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the tokens of a continuation at most.

    Returns:
        The candidates taken, likeliest first.
    """
    cost, slopes = curve.costs, curve.slopes
    most = len(cost) - 1
    taken: list[Node] = []
    expected, best, best_count = 1.0, 1.0 / cost[0], 0
    waiting: list[tuple[float, int, Node]] = []
    met = 0
    node = expander.root
    while len(taken) < most:
        if node.depth < max_depth:
            for child in expander.children(node):
                met += 1
                heappush(waiting, (-child.probability, met, child))
        if not waiting:
            break
        # The next is the likeliest of all that are left, so if it cannot raise the ratio, nothing can.
        probability = -waiting[0][0]
        if probability <= best * slopes[len(taken)]:
            break
        node = heappop(waiting)[2]
        taken.append(node)
        expected += probability
        if expected > best * cost[len(taken)]:
            best, best_count = expected / cost[len(taken)], len(taken)
    tree = CandidateTree()
    expander.taken = taken[:best_count]
    for node in expander.taken:
        assert node.parent is not None
        node.number = tree.grow(node.parent.number, node.token, node.depth, node.origin)
    return tree
