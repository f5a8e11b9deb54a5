"""Candidate selection: what candidates are likely to be worth; those taken make the most of a step's time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from decoding import DraftTables, Origin
from decoding.costs.step_cost import CostCurve
from decoding.drafting.context_ngrams import MATCH_LENGTHS
from decoding.drafting.expander import MIN_PROBABILITY, RATE, CandidateExpander, Followers, SearchNode
from decoding.drafting.registry import WEIGHTS, origin_of
from decoding.drafting.successors import CLASSES_PER_RANK, WIDTH
from decoding.planning.candidate_budget import select
from tests.evidence import (
    AFTER_REJECTED,
    AFTER_SIMILAR,
    CLASSES,
    INSTEAD,
    SURE,
    UNSURE,
    by_count,
    by_match,
    first_probabilities,
    followers_of,
    only_successors,
)

DRAWS = 60


def random_expander(draw: Random) -> CandidateExpander:
    """After a text of few different tokens, with something in every table."""
    tables = DraftTables()
    text = [draw.randrange(6) for _ in range(draw.randint(2, 30))]
    tables[Origin.CONTEXT].extend(text)
    for _ in range(draw.randrange(8)):
        tables[Origin.TRAJECTORY].add([draw.randrange(6) for _ in range(4)], guess_set_size=5)
    for token in draw.sample(range(6), 4):
        logits = sorted((draw.uniform(0, 6) for _ in range(4)), reverse=True)
        tables[Origin.SUCCESSOR].learn(
            draw.choice((token, (draw.randrange(6), token))), draw.sample(range(6), 4), logits
        )
    for _ in range(draw.choice((0, 20, 200))):
        surprise = RATE * ((draw.random() < 0.4) - draw.random())
        for evidence in (draw.choice(CLASSES), draw.choice(CLASSES)):
            tables.evidence_weights[evidence] += surprise
    return CandidateExpander(tables, text)


def random_costs(draw: Random) -> list[float]:
    """Of any shape: now and then a step over more tokens is cheaper."""
    costs = [draw.uniform(1, 4) for _ in range(draw.randint(1, 25))]
    return draw.choice((costs, sorted(costs), [1 + draw.uniform(0, 0.3) * count for count in range(len(costs))]))


def largest_sums(expander: CandidateExpander, node: SearchNode, max_depth: int) -> list[float]:
    """By count, the most that the probabilities of so many candidates below a node sum to, each with all before it."""
    best = [0.0]
    for child in followers_of(expander, node) if node.depth < max_depth else ():
        taken = [0.0, *(child.probability + below for below in largest_sums(expander, child, max_depth))]
        sums = [0.0] * (len(best) + len(taken) - 1)
        for count, other in enumerate(best):
            for more, probability in enumerate(taken):
                sums[count + more] = max(sums[count + more], other + probability)
        best = sums
    return best


def below(expander: CandidateExpander, node: SearchNode, max_depth: int) -> Iterator[SearchNode]:
    for child in followers_of(expander, node) if node.depth < max_depth else ():
        yield child
        yield from below(expander, child, max_depth)


@pytest.mark.parametrize("seed", range(DRAWS))
def test_no_set_of_candidates_promises_more_for_its_time(seed: int) -> None:
    draw = Random(seed)
    expander, costs, max_depth = random_expander(draw), random_costs(draw), draw.randint(1, 3)
    tree, _ = select(expander, CostCurve(costs), max_depth)
    won = (1 + sum(tree.probabilities)) / costs[len(tree)]
    sums = largest_sums(expander, expander.root, max_depth)
    assert won == pytest.approx(max((1 + most) / cost for most, cost in zip(sums, costs, strict=False)), rel=1e-12)


def test_the_candidates_taken_are_a_tree_the_likeliest_first() -> None:
    max_depth = 0
    for seed in range(20):
        expander = random_expander(Random(seed))
        tree, followers = select(expander, CostCurve([1 + 0.01 * count for count in range(40)]), 4)
        max_depth = max(max_depth, *tree.depths, 0)
        assert tree.probabilities == sorted(tree.probabilities, reverse=True)
        for number, (token, parent) in enumerate(zip(tree.tokens, tree.parents, strict=True), start=1):
            assert parent < number
            assert tree.probabilities[number - 1] <= (tree.probabilities[parent - 1] if parent else 1.0)
            assert tree.origin(number) is origin_of(followers[parent].evidence[token][0])
    assert max_depth == 4


@pytest.mark.parametrize("costs", [[1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.99, 2.98], [1.0, *[50.0] * 96]])
def test_nothing_is_taken_where_nothing_pays(costs: list[float]) -> None:
    for seed in range(20):
        expander = random_expander(Random(seed))
        tree, _ = select(expander, CostCurve(costs), 12)
        assert len(tree) == 0


def test_a_dear_first_candidate_is_taken_if_cheap_ones_behind_it_make_up_for_it() -> None:
    expander = CandidateExpander(only_successors({1: 2, 2: 3, 3: 4, 4: 5}), [1])
    assert select(expander, CostCurve([1.0, 1.5]), 4)[0].tokens == []
    assert select(expander, CostCurve([1.0, 1.5, 1.5, 1.5, 1.5]), 4)[0].tokens == [2, 3, 4, 5]
    assert select(expander, CostCurve([1.0, 1.5, 2.0, 2.5, 3.0]), 4)[0].tokens == []


def test_slopes_are_the_least_that_any_number_of_further_tokens_adds() -> None:
    for seed in range(20):
        costs = random_costs(Random(seed))
        slopes = CostCurve(costs).slopes
        for count in range(len(costs) - 1):
            per_token = [(costs[more] - costs[count]) / (more - count) for more in range(count + 1, len(costs))]
            assert slopes[count] == pytest.approx(min(per_token))
        # Past the last there is nothing to be had at any price.
        assert slopes[-1] == float("inf")


def test_a_path_is_as_likely_as_all_its_tokens_together() -> None:
    tables = only_successors({1: 2, 2: 3, 3: 4})
    expander = CandidateExpander(tables, [1])
    path = list(below(expander, expander.root, 3))
    assert [node.pair for node in path] == [(1, 2), (2, 3), (3, 4)]
    assert 0 < path[0].probability < 1
    assert [node.probability for node in path] == pytest.approx([path[0].probability ** depth for depth in (1, 2, 3)])


def test_children_are_never_likelier_together_than_their_parent() -> None:
    for seed in range(DRAWS):
        expander = random_expander(Random(seed))
        for node in (expander.root, *below(expander, expander.root, 2)):
            total = sum(child.probability for child in followers_of(expander, node))
            assert total < node.probability


def test_what_is_hardly_likely_is_not_looked_at() -> None:
    expander = CandidateExpander(only_successors({1: 2, 2: 3, 3: 1}), [1])
    path = list(below(expander, expander.root, 1000))
    least = path[-1].probability
    assert least >= MIN_PROBABILITY > least * path[0].probability
    assert 4 < len(path) < 50


def test_sources_that_propose_the_same_token_share_one_candidate() -> None:
    tables = only_successors({3: 4})
    tables[Origin.CONTEXT].extend([1, 2, 3, 4, 5, 2, 3])
    tables[Origin.TRAJECTORY].add([3, 4, 8], guess_set_size=5)
    tables[Origin.TRAJECTORY].add([3, 9, 9], guess_set_size=5)
    expander = CandidateExpander(tables, [1, 2, 3, 4, 5, 2, 3])
    children = {child.pair[1]: child for child in followers_of(expander)}
    assert set(children) == {4, 9}
    origins = [Origin.CONTEXT, Origin.TRAJECTORY, Origin.SUCCESSOR]
    assert list(dict.fromkeys(origin_of(evidence) for evidence in children[4].evidence)) == origins
    # Those that agree make it surer than any of them alone.
    alone = CandidateExpander(only_successors({3: 4}), [3])
    assert children[4].probability > max(children[9].probability, followers_of(alone)[0].probability)
    # Each source leads on from there.
    assert {child.pair[1] for child in followers_of(expander, children[4])} == {5, 8}
    tree, _ = select(expander, CostCurve([1.0] * 40), 2)
    assert dict(zip(tree.tokens, tree.origins, strict=True)) == {
        4: Origin.CONTEXT,
        5: Origin.CONTEXT,
        8: Origin.TRAJECTORY,
        9: Origin.TRAJECTORY,
    }


def test_a_match_grows_surer_along_its_path() -> None:
    tables, text = DraftTables(), [6, 7, 1, 2, 3, 4, 5, 8, 9, 0, 6, 7]
    tables[Origin.CONTEXT].extend(text)
    expander = CandidateExpander(tables, text)
    path = list(below(expander, expander.root, 8))
    assert [node.pair[1] for node in path] == [1, 2, 3, 4, 5, 8, 9, 0]
    assert [node.evidence for node in path] == [(by_match(match), by_count(1, 0)) for match in range(2, 10)]
    reached = [1.0, *(node.probability for node in path)]
    shares = [after / before for before, after in pairwise(reached)]
    assert shares == pytest.approx(sorted(shares))


def test_all_that_was_asked_for_teaches_taken_or_not() -> None:
    tables = only_successors({1: 2, 2: 3, 3: 4})
    expander = CandidateExpander(tables, [1])
    tree, followers = select(expander, CostCurve([1.0, 50.0]), 12)
    assert len(tree) == 0
    followers[0].learn(tables.evidence_weights, 2)
    assert tables.evidence_weights[UNSURE] > WEIGHTS[UNSURE]
    followers[0].learn(tables.evidence_weights, 3)
    followers[0].learn(tables.evidence_weights, 3)
    assert tables.evidence_weights[UNSURE] < WEIGHTS[UNSURE]


def share_after(tables: DraftTables, rate: float, draws: int) -> float:
    """The estimate of a lone successor once it was right so often."""
    draw, share = Random(7), 0.0
    for _ in range(draws):
        expander = CandidateExpander(tables, [1])
        followers, (child,) = expander.expand(expander.root, 0)
        share = child.probability
        followers.learn(tables.evidence_weights, 2 if draw.random() < rate else 9)
    return share


def test_an_estimate_follows_what_is_seen() -> None:
    tables = only_successors({1: 2})
    for rate, low, high in ((1.0, 0.7, 1.0), (0.0, 0.0, 0.2), (0.5, 0.3, 0.7)):
        assert low < share_after(tables, rate, 200) < high


def test_candidates_compete() -> None:
    tables = DraftTables()
    shares = []
    for successors in ([2], [2, 3], [2, 3, 4, 5]):
        tables[Origin.SUCCESSOR].learn(1, successors, [1.0] * len(successors))
        shares.append(first_probabilities(tables, [1])[2])
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 3


def test_what_followed_both_tokens_is_surer_than_what_followed_the_last() -> None:
    tables = DraftTables()
    tables[Origin.SUCCESSOR].learn_rows([(7, 1), (8, 1)], [[3, 2], [2, 3]], [[1.0, 0.5], [9.0, 0.0]])
    shares = []
    for before in (9, 7):
        shares.append(first_probabilities(tables, [before, 1])[2])
    tables[Origin.SUCCESSOR].learn((7, 1), [2, 3], [9.0, 0.0])
    shares.append(first_probabilities(tables, [7, 1])[2])
    assert shares[0] < shares[1] < shares[2]


def test_every_evidence_class_has_its_source_and_no_two_are_the_same() -> None:
    assert sorted(CLASSES) == list(range(len(WEIGHTS)))
    sources = (
        [Origin.SUCCESSOR] * (2 * WIDTH * CLASSES_PER_RANK + len([*AFTER_REJECTED, *INSTEAD, *AFTER_SIMILAR]))
        + [Origin.CONTEXT] * (len(MATCH_LENGTHS) + 12 + 1)
        + [Origin.TRAJECTORY]
    )
    assert [origin_of(evidence) for evidence in CLASSES] == sources


def test_copied_weights_learn_on_their_own() -> None:
    tables, followers = DraftTables(), Followers({2: (SURE, UNSURE)}, [1.0], 2.0, 0.0)
    followers.learn(tables.evidence_weights, 3)
    other, before = tables.copy(), list(tables.evidence_weights)
    followers.learn(tables.evidence_weights, 2)
    assert other.evidence_weights == before != tables.evidence_weights
    # And go on alike from there.
    followers.learn(other.evidence_weights, 2)
    assert other.evidence_weights == tables.evidence_weights


def test_what_was_likely_in_the_place_of_the_last_token_is_likelier_after_it() -> None:
    tables = DraftTables()
    tables.successors.learn_rows([(5, 6)], [[7, 8, 9]], [[3.0, 2.0, 1.0]])
    tables.successors.learn_rows([(6, 7)], [[20, 8]], [[3.0, 2.9]])
    by_text = {}
    for text in ([5, 6, 7], [4, 4, 7]):
        expander = CandidateExpander(tables, text)
        _, likely = expander.expand(expander.root, 0)
        by_text[text[1]] = {each.pair[1]: each.probability for each in likely}
    assert by_text[6][8] > by_text[6][20]


def test_a_text_of_one_token_is_expanded() -> None:
    tables = DraftTables()
    tables.successors.learn_rows([(7, 7)], [[20, 8]], [[3.0, 2.9]])
    expander = CandidateExpander(tables, [7])
    assert {each.pair for each in expander.expand(expander.root, 0)[1]} == {(7, 20), (7, 8)}
