"""Candidate budget: the number of candidates, possibly none, that maximises expected tokens per second."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.drafting.expander import CandidateExpander, Node
from decoding.drafting.tree import CandidateTree
from decoding.planning.step_cost import CostCurve


def select(
    expander: CandidateExpander, curve: CostCurve, max_depth: int, margin: float = 0.0, calibration: float = 1.0
) -> CandidateTree:
    """Return the candidate tree that maximises the expected tokens per unit of step time.

    Candidates are taken in order of p, the probability that they and all their ancestors are accepted. The count k
    maximises (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: expands the tree of possible continuations, each with its probability.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the maximum depth of the tree.
        margin: the minimum gain over a step without candidates, as a fraction; below it none are taken.
        calibration: a factor that the probabilities are multiplied by.

    Returns:
        The candidates taken, likeliest first.
    """
    cost, slopes, least_slope = curve.costs, curve.slopes, curve.least_slope
    most = len(cost) - 1
    taken: list[Node] = []
    count, expected, best, best_count = 0, 1.0, (1.0 + margin) / cost[0], 0
    # Candidates by their probability, the likeliest first.
    waiting: list[tuple[float, int, Node]] = []
    met, node = 0, expander.root
    while count < most:
        if node.depth < max_depth:
            # The best ratio never falls, so a candidate that cannot raise the present one is not even queued.
            least = best * least_slope / calibration
            for child in expander.children(node, least):
                met += 1
                heappush(waiting, (-child.probability, met, child))
        # The head of the queue is the likeliest candidate left: if it cannot raise the ratio, none can.
        if not waiting or -calibration * waiting[0][0] <= best * slopes[count]:
            break
        node = heappop(waiting)[2]
        taken.append(node)
        count += 1
        likely = calibration * node.probability
        expected += likely
        if expected > best * cost[count]:
            best, best_count = expected / cost[count], count
        # No queued candidate is likelier than this one, and no descendant is.
        if likely <= best * slopes[count]:
            break
    if not best_count:
        return CandidateTree()
    expander.taken = taken[:best_count]
    return _tree_of(expander.taken)


def _tree_of(nodes: list[Node]) -> CandidateTree:
    tree = CandidateTree()
    for node in nodes:
        assert node.parent is not None
        node.number = tree.grow(node.parent.number, node.token, node.depth, node.origin)
    return tree
