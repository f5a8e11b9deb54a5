"""The budget: as many candidates as make the most of a step's time, which may be none."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.drafting.expander import CandidateExpander, Node
from decoding.drafting.tree import CandidateTree
from decoding.planning.step_cost import CostCurve


def select(
    expander: CandidateExpander, curve: CostCurve, max_depth: int, margin: float = 0.0, calibration: float = 1.0
) -> CandidateTree:
    """Take the likeliest candidates, as many as maximise the tokens expected for the time of the step.

    With candidates in order of their path's probability p, that is the count k that maximises
    (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: what may follow the text.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the tokens of a continuation at most.
        margin: the least gain over a step without candidates for which any are taken, as a share.
        calibration: the share of the probabilities to count with.

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
            # The ratio only rises, and whatever cannot raise it as it is now is not even queued.
            least = best * least_slope / calibration
            for child in expander.children(node, least):
                met += 1
                heappush(waiting, (-child.probability, met, child))
        # The next is the likeliest of all that are left, so if it cannot raise the ratio, nothing can.
        if not waiting or -calibration * waiting[0][0] <= best * slopes[count]:
            break
        node = heappop(waiting)[2]
        taken.append(node)
        count += 1
        likely = calibration * node.probability
        expected += likely
        if expected > best * cost[count]:
            best, best_count = expected / cost[count], count
        # Nothing that waits is likelier than this one, and nothing behind it.
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
