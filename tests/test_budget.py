"""The budget: what each candidate is likely to be worth, and that those taken make the most of a step's time."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
import torch

from decoding import DraftTables, Origin
from decoding.drafting import successors as successors_module
from decoding.drafting.acceptance import Acceptance
from decoding.drafting.context import MAX_COUNTED_MATCH, MAX_MATCH, ContextIndex, match_class
from decoding.drafting.expander import MAX_PROBABILITY, MIN_PROBABILITY, CandidateExpander, Node
from decoding.drafting.registry import DEEP, evidence_class, origin_of
from decoding.drafting.source import EvidenceClass
from decoding.drafting.successors import SuccessorTable, successor_class
from decoding.planning.budget import select
from decoding.planning.step_cost import CostCurve


def by_match(length: int) -> EvidenceClass:
    return evidence_class(Origin.CONTEXT, match_class(length))


def by_gap(rank: int, gap: float) -> EvidenceClass:
    return evidence_class(Origin.SUCCESSOR, successor_class(rank, gap))


TRAJECTORY = evidence_class(Origin.TRAJECTORY, 0)
CLASSES: list[EvidenceClass] = [
    *(by_gap(rank, gap) for rank in range(4) for gap in (0.1, 1.0, 3.0, 9.0)),
    *(by_match(length) for length in (1, 2, 3, 4, 8)),
    TRAJECTORY,
]
SURE, UNSURE = by_gap(0, 9.0), by_gap(0, 0.0)
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
        tables[Origin.SUCCESSOR].learn(token, draw.sample(range(6), 4), logits)
    for _ in range(draw.choice((0, 20, 200))):
        evidence = draw.choice(CLASSES) + draw.choice((0, DEEP))
        tables.acceptance.learn([(evidence, draw.random() < 0.4)])
    return CandidateExpander(tables, text)


def random_costs(draw: Random) -> list[float]:
    """Of any shape: now and then a step over more tokens is cheaper."""
    costs = [draw.uniform(1, 4) for _ in range(draw.randint(1, 25))]
    return draw.choice((costs, sorted(costs), [1 + draw.uniform(0, 0.3) * count for count in range(len(costs))]))


def largest_sums(expander: CandidateExpander, node: Node, max_depth: int) -> list[float]:
    """By count, the most that the probabilities of so many candidates below a node sum to, each with all before it."""
    best = [0.0]
    for child in expander.children(node) if node.depth < max_depth else ():
        taken = [0.0, *(child.probability + below for below in largest_sums(expander, child, max_depth))]
        sums = [0.0] * (len(best) + len(taken) - 1)
        for count, other in enumerate(best):
            for more, probability in enumerate(taken):
                sums[count + more] = max(sums[count + more], other + probability)
        best = sums
    return best


def below(expander: CandidateExpander, node: Node, max_depth: int) -> Iterator[Node]:
    for child in expander.children(node) if node.depth < max_depth else ():
        yield child
        yield from below(expander, child, max_depth)


def only_successors(after: dict[int, int]) -> DraftTables:
    """One successor a token, of the class ``UNSURE``."""
    tables = DraftTables()
    for token, following in after.items():
        tables[Origin.SUCCESSOR].learn(token, [following], [1.0])
    return tables


@pytest.mark.parametrize("seed", range(DRAWS))
def test_no_set_of_candidates_promises_more_for_its_time(seed: int) -> None:
    draw = Random(seed)
    expander, costs, max_depth = random_expander(draw), random_costs(draw), draw.randint(1, 3)
    tree = select(expander, CostCurve(costs), max_depth)
    won = (1 + sum(node.probability for node in expander.taken)) / costs[len(tree)]
    sums = largest_sums(expander, expander.root, max_depth)
    assert won == pytest.approx(max((1 + most) / cost for most, cost in zip(sums, costs, strict=False)), rel=1e-12)


def test_the_candidates_taken_are_a_tree_the_likeliest_first() -> None:
    max_depth = 0
    for seed in range(20):
        expander = random_expander(Random(seed))
        tree = select(expander, CostCurve([1 + 0.01 * count for count in range(40)]), 4)
        assert len(tree) == len(expander.taken)
        max_depth = max(max_depth, *tree.depths, 0)
        assert expander.taken == sorted(expander.taken, key=lambda node: -node.probability)
        for number, node in enumerate(expander.taken, start=1):
            assert (node.number, tree.tokens[number - 1], tree.origin(number)) == (number, node.token, node.origin)
            assert node.parent is not None
            assert tree.parent(number) == node.parent.number < number
    assert max_depth == 4


@pytest.mark.parametrize("costs", [[1.0], [1.0, 2.0, 3.0, 4.0], [1.0, 1.99, 2.98], [1.0, *[50.0] * 96]])
def test_nothing_is_taken_where_nothing_pays(costs: list[float]) -> None:
    for seed in range(20):
        expander = random_expander(Random(seed))
        assert len(select(expander, CostCurve(costs), 12)) == 0
        assert expander.taken == []


def test_a_dear_first_candidate_is_taken_if_cheap_ones_behind_it_make_up_for_it() -> None:
    expander = CandidateExpander(only_successors({1: 2, 2: 3, 3: 4, 4: 5}), [1])
    assert select(expander, CostCurve([1.0, 1.5]), 4).tokens == []
    assert select(expander, CostCurve([1.0, 1.5, 1.5, 1.5, 1.5]), 4).tokens == [2, 3, 4, 5]
    assert select(expander, CostCurve([1.0, 1.5, 2.0, 2.5, 3.0]), 4).tokens == []


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
    tables.acceptance.learn([(UNSURE + DEEP, False)] * 5)
    first, deep = (tables.acceptance.estimates[UNSURE + deep] for deep in (0, DEEP))
    expander = CandidateExpander(tables, [1])
    assert first > deep
    assert [node.token for node in below(expander, expander.root, 3)] == [2, 3, 4]
    assert [node.probability for node in below(expander, expander.root, 3)] == pytest.approx(
        [first, first * deep, first * deep**2]
    )


def test_children_are_never_likelier_together_than_their_parent() -> None:
    for seed in range(DRAWS):
        expander = random_expander(Random(seed))
        for node in (expander.root, *below(expander, expander.root, 2)):
            total = sum(child.probability for child in expander.children(node))
            assert total <= node.probability * MAX_PROBABILITY * (1 + 1e-12)


def test_what_is_hardly_likely_is_not_looked_at() -> None:
    expander = CandidateExpander(only_successors({1: 2, 2: 1}), [1])
    path = list(below(expander, expander.root, 1000))
    least = path[-1].probability
    assert least >= MIN_PROBABILITY > least * path[0].probability
    assert 5 < len(path) < 50


def test_sources_that_propose_the_same_token_share_one_candidate() -> None:
    tables = only_successors({3: 4})
    tables[Origin.CONTEXT].extend([1, 2, 3, 4, 5, 2, 3])
    tables[Origin.TRAJECTORY].add([3, 4, 8], guess_set_size=5)
    tables[Origin.TRAJECTORY].add([3, 9, 9], guess_set_size=5)
    expander = CandidateExpander(tables, [1, 2, 3, 4, 5, 2, 3])
    children = {child.token: child for child in expander.children(expander.root)}
    assert set(children) == {4, 9}
    assert {origin_of(evidence) for evidence in children[4].evidence} == {
        Origin.CONTEXT,
        Origin.TRAJECTORY,
        Origin.SUCCESSOR,
    }
    assert children[4].best == max(children[4].evidence, key=lambda evidence: tables.acceptance.estimates[evidence])
    # Each source leads on from there, and only what the trajectory alone has proposed is its own.
    assert {child.token for child in expander.children(children[4])} == {5, 8}
    tree = select(expander, CostCurve([1.0] * 40), 2)
    own = expander.taken_only_from({Origin.TRAJECTORY})
    assert sorted(tree.tokens[number - 1] for number in own) == [8, 9, 9]
    assert expander.taken_only_from({Origin.CONTEXT}) == {tree.tokens.index(5) + 1}


def test_a_match_grows_surer_along_its_path() -> None:
    tables, text = DraftTables(), [6, 7, 1, 2, 3, 4, 5, 8, 9, 0, 6, 7]
    tables[Origin.CONTEXT].extend(text)
    expander = CandidateExpander(tables, text)
    path = list(below(expander, expander.root, 8))
    assert [node.token for node in path] == [1, 2, 3, 4, 5, 8, 9, 0]
    assert [node.best % DEEP for node in path] == [by_match(match) for match in range(2, 10)]


def test_all_that_was_asked_for_teaches_taken_or_not() -> None:
    tables = only_successors({1: 2, 2: 3, 3: 4})
    before = tables.acceptance.copy().estimates
    expander = CandidateExpander(tables, [1])
    assert len(select(expander, CostCurve([1.0, 50.0]), 12)) == 0
    expander.learn([2])
    assert tables.acceptance.estimates[UNSURE] > before[UNSURE]
    assert tables.acceptance.estimates[UNSURE + DEEP] == before[UNSURE + DEEP]


@pytest.mark.parametrize("evidence", CLASSES)
def test_an_estimate_follows_what_is_seen(evidence: EvidenceClass) -> None:
    acceptance = Acceptance()
    for rate, low, high in ((1.0, 0.7, 1.0), (0.0, 0.0, 0.2), (0.5, 0.3, 0.7)):
        draw = Random(evidence)
        for _ in range(150):
            acceptance.learn([(evidence, draw.random() < rate)])
        assert low < acceptance.estimates[evidence] < high


def test_success_raises_an_estimate_and_failure_lowers_it_at_once() -> None:
    acceptance, estimates = Acceptance(), []
    for accepted in (None, True, True, False, False, True):
        acceptance.learn([] if accepted is None else [(TRAJECTORY, accepted)])
        estimates.append(acceptance.estimates[TRAJECTORY])
    assert estimates[0] < estimates[1] < estimates[2] > estimates[3] > estimates[4] < estimates[5]


def test_a_source_that_fails_is_not_tried_class_by_class() -> None:
    acceptance, fresh = Acceptance(), Acceptance().estimates
    for _ in range(80):
        acceptance.learn([(UNSURE, False), (SURE, False), (by_match(2), True)])
    for evidence in CLASSES:
        if origin_of(evidence) is Origin.SUCCESSOR:
            assert acceptance.estimates[evidence] < 0.5 * fresh[evidence]
            assert acceptance.estimates[evidence + DEEP] < 0.5 * fresh[evidence]
        else:
            assert acceptance.estimates[evidence] >= fresh[evidence]


def test_every_evidence_class_has_its_source_and_no_two_are_the_same() -> None:
    assert len(set(CLASSES)) == len(CLASSES)
    assert all(evidence < DEEP for evidence in CLASSES)
    sources = [Origin.SUCCESSOR] * 16 + [Origin.CONTEXT] * 5 + [Origin.TRAJECTORY]
    assert (
        [origin_of(evidence) for evidence in CLASSES] == [origin_of(evidence + DEEP) for evidence in CLASSES] == sources
    )
    assert all(0 < Acceptance().estimates[evidence] < 1 for evidence in CLASSES)


def test_copied_estimates_learn_on_their_own() -> None:
    acceptance = Acceptance()
    acceptance.learn([(SURE, False)] * 3)
    other, before = acceptance.copy(), list(acceptance.estimates)
    assert other.estimates == before
    acceptance.learn([(SURE, True)] * 9)
    assert other.estimates == before != acceptance.estimates
    # And go on alike from there.
    other.learn([(SURE, True)] * 9)
    assert other.estimates == acceptance.estimates


def test_the_last_word_on_what_follows_a_token_counts() -> None:
    table = SuccessorTable()
    table.learn(5, [1, 2, 3], [9.0, 8.5, 2.0])
    assert table.after(5) == ((1, successor_class(0, 0.5)), (2, successor_class(1, 0.5)), (3, successor_class(2, 7.0)))
    table.learn(5, [3], [1.0])
    assert table.after(5) == ((3, successor_class(0, 0.0)),)
    assert table.after(1) == ()
    assert len(table) == 1


def test_the_successor_table_forgets_the_token_least_recently_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(successors_module, "MAX_TOKENS", 3)
    table = SuccessorTable()
    for token in (1, 2, 3, 1, 4):
        table.learn(token, [9], [1.0])
        assert len(table) <= 3
    assert [bool(table.after(token)) for token in (1, 2, 3, 4)] == [True, False, True, True]


def test_what_is_looked_for_later_is_what_would_have_been_found_at_once() -> None:
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0))
    values, tokens = logits.topk(successors_module.WIDTH)
    at_once, later = SuccessorTable(), SuccessorTable()
    at_once.learn(5, tokens.tolist(), values.tolist())
    later.learn(5, [9], [1.0])
    later.learn_logits(5, logits)
    assert later.after(5) == at_once.after(5)
    later.learn_logits(5, logits)
    later.learn(5, [9], [1.0])
    assert [token for token, _ in later.after(5)] == [9]
    assert len(later) == 1


def test_only_so_many_tokens_and_logits_wait_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, table = torch.arange(50.0), SuccessorTable()
    monkeypatch.setattr(successors_module, "MAX_UNREAD_BYTES", 3 * logits.nbytes)
    for token in range(10):
        table.learn_logits(token, logits)
    assert [token for token in range(10) if table.after(token)] == [7, 8, 9]
    monkeypatch.setattr(successors_module, "MAX_TOKENS", 2)
    draw, table = Random(4), SuccessorTable()
    for _ in range(200):
        table.learn_logits(draw.randrange(9), logits)
        assert len(table) <= 2
        table.learn(draw.randrange(9), [9], [1.0])
        table.after(draw.randrange(9))
        assert len(table) <= 2


def test_a_copied_successor_table_goes_its_own_way() -> None:
    table = SuccessorTable()
    table.learn(1, [2], [1.0])
    table.learn_logits(6, torch.arange(50.0))
    other = table.copy()
    table.learn(1, [3], [1.0])
    table.learn(4, [5], [1.0])
    table.learn(6, [5], [1.0])
    assert [other.after(token)[0][0] for token in (1, 6)] == [2, 49]
    assert len(other) == 2


def test_matches_are_places_where_the_text_stood_before_the_longest_and_latest_first() -> None:
    draw, index = Random(5), ContextIndex()
    text: list[int] = []
    for _ in range(400):
        text.append(draw.randrange(3))
        index.extend(text[-1:])
        matches = index.start(text)
        assert matches == sorted(matches, reverse=True)
        assert len({place for _, place in matches}) == len(matches)
        for length, place in matches:
            assert text[place + 1 - length : place + 1] == text[-length:]
            assert length <= MAX_COUNTED_MATCH
            if MAX_MATCH <= length < min(MAX_COUNTED_MATCH, place + 1):
                assert text[place - length] != text[-length - 1]
            following = text[place + 1 : place + 2]
            assert [token for token, *_ in index.proposals([(length, place)])] == following
        latest = next((place for place in range(len(text) - 2, -1, -1) if text[place] == text[-1]), None)
        assert latest is None or latest in {place for _, place in matches}


def test_nothing_follows_the_end_of_an_earlier_text() -> None:
    index = ContextIndex()
    index.extend([1, 2, 3])
    index.begin([])
    index.extend([4, 3])
    assert [length for length, _ in index.start([4, 3])] == [2, 1]
    assert index.proposals(index.start([4, 3])) == []
    assert [token for token, *_ in index.proposals(index.start([2]))] == [3]
