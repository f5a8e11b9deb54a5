"""The budget: the candidates that make the most of a step's time, none included."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.drafting.expander import Growth, Node
from decoding.drafting.tree import CandidateTree
from decoding.planning.step_cost import CostCurve


def select(growth: Growth, curve: CostCurve, deepest: int) -> CandidateTree:
    """Take the likeliest candidates, as many as maximise the tokens expected for the time of the step.

    With candidates in order of their path's probability p, that is the count k that maximises
    (1 + p₁ + … + pₖ) / cost(k).

    Args:
        growth: what could follow the text.
        curve: what the step costs with 0, 1, 2 … candidates, window and all.
        deepest: how many tokens a continuation has at most.

    Returns:
        The candidates taken, likeliest first.
    """
    cost, slopes = curve.costs, curve.slopes
    most = len(cost) - 1
    taken: list[Node] = []
    expected, best, best_count = 1.0, 1.0 / cost[0], 0
    waiting: list[tuple[float, int, Node]] = []
    met = 0
    node = growth.root
    while len(taken) < most:
        if node.depth < deepest:
            for child in growth.children(node):
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
    growth.taken = taken[:best_count]
    for node in growth.taken:
        assert node.parent is not None
        node.number = tree.grow(node.parent.number, node.token, node.depth, node.origin)
    return tree
