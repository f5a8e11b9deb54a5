"""The budget: as many candidates as make the most of a step's time, which may be none."""

from __future__ import annotations

from heapq import heappop, heappush

from decoding.drafting.expander import CandidateExpander, Node
from decoding.drafting.tree import CandidateTree
from decoding.planning.step_cost import CostCurve

NO_CANDIDATES = CandidateTree()
"""The tree of a step that verifies none."""


def select(
    expander: CandidateExpander, curve: CostCurve, max_depth: int, margin: float = 0.0, trust: float = 1.0
) -> CandidateTree:
    """Take the likeliest candidates, as many as maximise the tokens expected for the time of the step.

    With candidates in order of their path's probability p, that is the count k that maximises
    (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: what may follow the text.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the tokens of a continuation at most.
        margin: the least gain over a step without candidates for which any are taken, as a share.
        trust: the share of the probabilities to count with.

    Returns:
        The candidates taken, likeliest first.
    """
    cost, slopes, least_slope = curve.costs, curve.slopes, curve.least_slope
    most = len(cost) - 1
    taken: list[Node] = []
    expected, best, best_count = 1.0, (1.0 + margin) / cost[0], 0
    # Candidates by their probability, and those taken, not expanded yet, by the most that a child's can be.
    waiting: list[tuple[float, int, Node, bool]] = []
    met, parent = 0, expander.root if max_depth > 0 else None
    while len(taken) < most:
        if parent is not None:
            # The ratio only rises, and whatever cannot raise it as it is now is not even queued.
            least = best * least_slope / trust
            for child in expander.children(parent):
                if (probability := child.probability) > least:
                    met += 1
                    heappush(waiting, (-probability, met, child, False))
        # The next is the likeliest of all that are left, so if it cannot raise the ratio, nothing can.
        if not waiting or -trust * waiting[0][0] <= best * slopes[len(taken)]:
            break
        negated, _, node, is_taken = heappop(waiting)
        parent = node if is_taken else None
        if is_taken:
            continue
        taken.append(node)
        if node.depth < max_depth and negated < -best * least_slope / trust:
            met += 1
            heappush(waiting, (negated, met, node, True))
        expected -= trust * negated
        if expected > best * cost[len(taken)]:
            best, best_count = expected / cost[len(taken)], len(taken)
    expander.taken = taken[:best_count]
    if not best_count:
        return NO_CANDIDATES
    tree = CandidateTree()
    for node in expander.taken:
        assert node.parent is not None
        node.number = tree.grow(node.parent.number, node.token, node.depth, node.origin)
    return tree
