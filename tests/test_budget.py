"""The budget: what each candidate is likely to be worth, and that those taken make the most of a step's time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from random import Random

import pytest
import torch

from decoding import DraftTables, Origin
from decoding.drafting import successors as successors_module
from decoding.drafting.acceptance import Acceptance
from decoding.drafting.context import MATCH_LENGTHS, ContextIndex, count_class, match_class
from decoding.drafting.expander import MIN_PROBABILITY, CandidateExpander, Node
from decoding.drafting.registry import OFFSETS, ORIGINS, WEIGHTS, origin_of
from decoding.drafting.source import EvidenceClass
from decoding.drafting.successors import CLASSES_PER_RANK, GAPS, MAX_AFTER_REJECTED, WIDTH, SuccessorTable
from decoding.planning.budget import select
from decoding.planning.step_cost import CostCurve


def evidence_class(origin: Origin, number: int) -> EvidenceClass:
    """The class that a source numbers so, in the numbering of all sources."""
    return OFFSETS[ORIGINS.index(origin)] + number


def successor_class(rank: int, gap: float, *, after_pair: bool = False) -> EvidenceClass:
    return (WIDTH * after_pair + rank) * CLASSES_PER_RANK + bisect_right(GAPS, gap)


def by_match(length: int) -> EvidenceClass:
    return evidence_class(Origin.CONTEXT, match_class(length))


def by_count(agreeing: int, others: int) -> EvidenceClass:
    return evidence_class(Origin.CONTEXT, count_class(agreeing, others))


def by_gap(rank: int, gap: float, *, after_pair: bool = False) -> EvidenceClass:
    return evidence_class(Origin.SUCCESSOR, successor_class(rank, gap, after_pair=after_pair))


TRAJECTORY = evidence_class(Origin.TRAJECTORY, 0)
AFTER_REJECTED = [
    evidence_class(Origin.SUCCESSOR, 2 * WIDTH * CLASSES_PER_RANK + rank) for rank in range(MAX_AFTER_REJECTED)
]
CLASSES: list[EvidenceClass] = [
    *(
        by_gap(rank, gap, after_pair=pair)
        for pair in (False, True)
        for rank in range(WIDTH)
        for gap in (0.1, 1.0, 3.0, 9.0)
    ),
    *AFTER_REJECTED,
    *(by_match(length) for length in MATCH_LENGTHS),
    *(by_count(agreeing, others) for agreeing in (1, 2, 3) for others in range(4)),
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
        tables[Origin.SUCCESSOR].learn(
            draw.choice((token, (draw.randrange(6), token))), draw.sample(range(6), 4), logits
        )
    for _ in range(draw.choice((0, 20, 200))):
        evidence = draw.choice(CLASSES), draw.choice(CLASSES)
        tables.acceptance.learn(evidence, draw.random(), accepted=draw.random() < 0.4)
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


def test_no_candidates_are_a_tree_of_their_own() -> None:
    expander, dear = CandidateExpander(only_successors({1: 2}), [1]), CostCurve([1.0, 50.0])
    select(expander, dear, 4).add([2, 3], Origin.CONTEXT)
    assert len(select(expander, dear, 4)) == 0


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
    assert [node.token for node in path] == [2, 3, 4]
    assert 0 < path[0].share < 1
    assert [node.probability for node in path] == pytest.approx([path[0].share ** depth for depth in (1, 2, 3)])


def test_children_are_never_likelier_together_than_their_parent() -> None:
    for seed in range(DRAWS):
        expander = random_expander(Random(seed))
        for node in (expander.root, *below(expander, expander.root, 2)):
            total = sum(child.probability for child in expander.children(node))
            assert total < node.probability


def test_what_is_hardly_likely_is_not_looked_at() -> None:
    expander = CandidateExpander(only_successors({1: 2, 2: 1}), [1])
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
    children = {child.token: child for child in expander.children(expander.root)}
    assert set(children) == {4, 9}
    origins = [Origin.CONTEXT, Origin.TRAJECTORY, Origin.SUCCESSOR]
    assert list(dict.fromkeys(origin_of(evidence) for evidence in children[4].evidence)) == origins
    assert children[4].origin is Origin.CONTEXT
    # Those that agree make it surer than any of them alone.
    alone = CandidateExpander(only_successors({3: 4}), [3])
    assert children[4].probability > max(children[9].probability, alone.children(alone.root)[0].probability)
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
    assert [node.evidence for node in path] == [(by_match(match), by_count(1, 0)) for match in range(2, 10)]
    assert [node.share for node in path] == pytest.approx(sorted(node.share for node in path))


def test_all_that_was_asked_for_teaches_taken_or_not() -> None:
    tables = only_successors({1: 2, 2: 3, 3: 4})
    expander = CandidateExpander(tables, [1])
    assert len(select(expander, CostCurve([1.0, 50.0]), 12)) == 0
    expander.learn([2])
    assert tables.acceptance.weights[UNSURE] > WEIGHTS[UNSURE]
    expander.learn([3])
    expander.learn([3])
    assert tables.acceptance.weights[UNSURE] < WEIGHTS[UNSURE]


def share_after(tables: DraftTables, rate: float, draws: int) -> float:
    """The estimate of a lone successor once it was right so often."""
    draw, share = Random(7), 0.0
    for _ in range(draws):
        expander = CandidateExpander(tables, [1])
        (child,) = expander.children(expander.root)
        share = child.share
        expander.learn([2 if draw.random() < rate else 9])
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
        expander = CandidateExpander(tables, [1])
        shares.append(next(child.share for child in expander.children(expander.root) if child.token == 2))
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) == 3


def test_what_followed_both_tokens_is_surer_than_what_followed_the_last() -> None:
    tables = DraftTables()
    tables[Origin.SUCCESSOR].learn_rows([(7, 1), (8, 1)], [[3, 2], [2, 3]], [[1.0, 0.5], [9.0, 0.0]])
    shares = []
    for before in (9, 7):
        expander = CandidateExpander(tables, [before, 1])
        found = {child.token: child.share for child in expander.children(expander.root)}
        shares.append(found[2])
    tables[Origin.SUCCESSOR].learn((7, 1), [2, 3], [9.0, 0.0])
    expander = CandidateExpander(tables, [7, 1])
    shares.append(next(child.share for child in expander.children(expander.root) if child.token == 2))
    assert shares[0] < shares[1] < shares[2]


def test_every_evidence_class_has_its_source_and_no_two_are_the_same() -> None:
    assert sorted(CLASSES) == list(range(len(WEIGHTS)))
    sources = (
        [Origin.SUCCESSOR] * (2 * WIDTH * CLASSES_PER_RANK + MAX_AFTER_REJECTED)
        + [Origin.CONTEXT] * (len(MATCH_LENGTHS) + 12)
        + [Origin.TRAJECTORY]
    )
    assert [origin_of(evidence) for evidence in CLASSES] == sources


def test_copied_weights_learn_on_their_own() -> None:
    acceptance = Acceptance()
    acceptance.learn((SURE, UNSURE), 0.5, accepted=False)
    other, before = acceptance.copy(), list(acceptance.weights)
    acceptance.learn((SURE,), 0.5, accepted=True)
    assert other.weights == before != acceptance.weights
    # And go on alike from there.
    other.learn((SURE,), 0.5, accepted=True)
    assert other.weights == acceptance.weights


def test_successors_of_a_rejected_candidate_may_follow_the_token_chosen_in_its_place() -> None:
    tables = only_successors({1: 2})
    tables.bind(50)
    tables.successors.learn_rejected((7, 1), [5, 2])

    def shares(tables: DraftTables, before: int) -> dict[int, float]:
        expander = CandidateExpander(tables, [before, 1])
        return {child.token: child.share for child in expander.children(expander.root)}

    assert list(shares(tables, 8)) == [2]
    assert set(shares(tables, 7)) == {2, 5}
    assert shares(tables.copy(), 7) == shares(tables, 7)
    tables.successors.learn_rejected((8, 1), [6])
    assert list(shares(tables, 7)) == [2], "of the last token alone"
    tables.remember([])
    assert shares(tables, 8) == {}


def test_the_last_word_on_what_follows_a_token_counts() -> None:
    table = SuccessorTable()
    table.learn(5, [1, 2, 3], [9.0, 8.5, 2.0])
    classes = successor_class(0, 0.5), successor_class(1, 0.5), successor_class(2, 7.0)
    assert table.after((0, 5)) == {token: (each,) for token, each in zip((1, 2, 3), classes, strict=True)}
    table.learn(5, [3], [1.0])
    assert table.after((0, 5)) == {3: (successor_class(0, 0.0),)}
    assert table.after((0, 1)) == {}
    assert len(table) == 1


def test_the_successor_table_forgets_the_token_least_recently_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(successors_module, "MAX_ENTRIES", 3)
    table = SuccessorTable()
    for token in (1, 2, 3, 1, 4):
        table.learn(token, [9], [1.0])
        assert len(table) <= 3
    assert [bool(table.after((0, token))) for token in (1, 2, 3, 4)] == [True, False, True, True]


def test_what_is_looked_for_later_is_what_would_have_been_found_at_once() -> None:
    logits = torch.randn(50, generator=torch.Generator().manual_seed(0))
    values, tokens = logits.topk(successors_module.WIDTH)
    at_once, later = SuccessorTable(), SuccessorTable()
    at_once.learn_rows([(4, 5)], [tokens.tolist()], [values.tolist()])
    later.learn_rows([(4, 5)], [[9]], [[1.0]])
    later.learn_logits((4, 5), logits)
    for pair in ((4, 5), (3, 5)):
        assert later.after(pair) == at_once.after(pair)
    later.learn_logits((4, 5), logits)
    later.learn_rows([(4, 5)], [[9]], [[1.0]])
    assert list(later.after((4, 5))) == [9]
    assert len(later) == 2


def test_only_so_many_tokens_and_logits_wait_to_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    logits, table = torch.arange(50.0), SuccessorTable()
    monkeypatch.setattr(successors_module, "MAX_UNREAD_BYTES", 3 * logits.nbytes)
    for token in range(10):
        table.learn_logits((0, token), logits)
    assert [token for token in range(10) if table.after((0, token))] == [7, 8, 9]
    monkeypatch.setattr(successors_module, "MAX_ENTRIES", 4)
    draw, table = Random(4), SuccessorTable()
    for _ in range(200):
        table.learn_logits((0, draw.randrange(9)), logits)
        assert len(table) <= 4
        table.learn_rows([(0, draw.randrange(9))], [[9]], [[1.0]])
        table.after((0, draw.randrange(9)))
        assert len(table) <= 4


def test_a_copied_successor_table_goes_its_own_way() -> None:
    table = SuccessorTable()
    table.learn(1, [2], [1.0])
    table.learn(6, [49], [1.0])
    other = table.copy()
    table.learn(1, [3], [1.0])
    table.learn_logits((1, 4), torch.arange(50.0))
    table.learn(6, [5], [1.0])
    assert [next(iter(other.after((0, token)))) for token in (1, 6)] == [2, 49]
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
            assert length <= MATCH_LENGTHS[-1]
            if length < min(MATCH_LENGTHS[-1], place + 1):
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
    assert [length for length, _ in index.start([4, 3])] == [1]
    assert index.proposals(index.start([4, 3])) == []
    assert [token for token, *_ in index.proposals(index.start([2]))] == [3]
