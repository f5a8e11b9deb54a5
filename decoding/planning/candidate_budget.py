"""Candidate budget: how many candidates a step verifies, so many of the likeliest as maximise tokens per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import heappop, heappush

from decoding.branches.candidate_tree import CandidateTree
from decoding.costs.step_cost import MAX_CANDIDATES, CostCurve
from decoding.drafting.expander import CandidateExpander, Followers, SearchNode
from decoding.drafting.registry import origin_of

PRICED_TOKENS = 16
"""Candidates up to which the cost of a token that is read again is measured."""


def select(expander: CandidateExpander, curve: CostCurve, max_depth: int) -> tuple[CandidateTree, dict[int, Followers]]:
    """Return the candidate tree that maximises the expected tokens per unit of step time.

    Candidates are taken in order of p, the probability that they and all their ancestors are accepted. The count k
    maximises (1 + p₁ + … + pₖ) / cost(k).

    Args:
        expander: finds what may follow the text and each candidate.
        curve: the cost of the step with 0, 1, 2 … candidates, its window included.
        max_depth: the maximum depth of the tree.

    Returns:
        The candidates taken, likeliest first; and the followers of each node that was expanded, by its number.
    """
    cost, slopes, least_slope = curve.costs, curve.slopes, curve.least_slope
    most = len(cost) - 1
    taken: list[SearchNode] = []
    followers: dict[int, Followers] = {}
    count, expected, best, best_count = 0, 1.0, 1.0 / cost[0], 0
    # Candidates by their probability, the likeliest first.
    waiting: list[tuple[float, int, SearchNode]] = []
    met, candidate = 0, expander.root
    while count < most:
        if candidate.depth < max_depth:
            # The best ratio never falls, so a candidate that cannot raise the present one is not even queued.
            followers[count], likely = expander.expand(candidate, count, best * least_slope)
            for follower in likely:
                met += 1
                heappush(waiting, (-follower.probability, met, follower))
        # The head of the queue is the likeliest candidate left: if it cannot raise the ratio, none can.
        if not waiting or -waiting[0][0] <= best * slopes[count]:
            break
        candidate = heappop(waiting)[2]
        taken.append(candidate)
        count += 1
        probability = candidate.probability
        expected += probability
        if expected > best * cost[count]:
            best, best_count = expected / cost[count], count
        # Neither queued candidates nor descendants are likelier than this one.
        if probability <= best * slopes[count]:
            break
    return _tree(taken[:best_count]), followers


def select_chain(
    expander: CandidateExpander, curve: CostCurve, max_depth: int, rereading: int | None
) -> tuple[CandidateTree, dict[int, Followers]]:
    """Return the one chain of candidates that maximises the expected tokens per unit of step time, as :func:`select`.

    With p₁ ≥ … ≥ pₖ as there, it maximises (1 + p₁ + … + pₖ) / (cost(k) + price · again). Here ``again`` is the number
    of tokens that the next step is expected to read again: unless all of the chain is accepted, those that this step
    reads before the candidates (``rereading``; None where none are ever read again), and the accepted ones.
    """
    cost, price = curve.costs, 0.0 if rereading is None else _price(curve)
    most, before = min(max_depth, len(cost) - 1), rereading or 0
    best, leaf = 1.0 / cost[0], 0
    # Candidates by their probability, the likeliest first, with the tokens expected from their parent's chain.
    waiting: list[tuple[float, int, SearchNode, float]] = []
    # Numbered as they are tried; the returned chain has numbers of its own.
    met, expected, tried, found = 0, 1.0, [expander.root], dict[int, Followers]()
    for number in range(MAX_CANDIDATES):
        candidate = tried[number]
        if candidate.depth < most and candidate.probability > best * curve.slopes[candidate.depth]:
            # A candidate that is less likely can raise no chain's ratio.
            found[number], likely = expander.expand(candidate, number, best * curve.least_slope)
            for follower in likely:
                met += 1
                heappush(waiting, (-follower.probability, met, follower, expected))
        if not waiting or -waiting[0][0] <= best * curve.least_slope:
            break
        _, _, candidate, expected = heappop(waiting)
        tried.append(candidate)
        probability, depth = candidate.probability, candidate.depth
        expected += probability
        again = (1.0 - probability) * before + (expected - 1.0) - depth * probability
        if expected > best * (cost[depth] + price * again):
            best, leaf = expected / (cost[depth] + price * again), len(tried) - 1
    chain = [leaf]
    while chain[0]:
        chain.insert(0, tried[chain[0]].parent)
    candidates = [replace(tried[number], parent=parent) for parent, number in enumerate(chain[1:])]
    return _tree(candidates), {place: found[number] for place, number in enumerate(chain) if number in found}


def _tree(candidates: Sequence[SearchNode]) -> CandidateTree:
    tree = CandidateTree()
    for each in candidates:
        tree.grow(each.parent, each.pair[1], each.depth, origin_of(each.evidence[0]), each.probability)
    return tree


def _price(curve: CostCurve) -> float:
    """Return the cost of one token more in a step over several."""
    last = min(PRICED_TOKENS, len(curve.costs) - 1)
    return max(0.0, (curve.costs[last] - curve.costs[1]) / (last - 1)) if last > 1 else 0.0
