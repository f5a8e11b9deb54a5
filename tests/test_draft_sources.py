"""What the sources learn and propose: successors of a token, and places where the text stood before."""

from __future__ import annotations

from random import Random

import pytest

from decoding import DraftTables
from decoding.drafting import successors as successors_module
from decoding.drafting.context_ngrams import MATCH_LENGTHS, ContextIndex
from decoding.drafting.successors import SuccessorTable
from tests.evidence import (
    IN_OTHER_TEXTS,
    first_probabilities,
    only_successors,
    successor_class,
)


def test_successors_of_a_rejected_candidate_may_follow_the_token_chosen_in_its_place() -> None:
    tables = only_successors({1: 2})
    tables.bind(50)
    tables.successors.learn_rejected((7, 1), [5, 2])

    def shares(tables: DraftTables, before: int) -> dict[int, float]:
        return first_probabilities(tables, [before, 1])

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


def test_a_copied_successor_table_goes_its_own_way() -> None:
    table = SuccessorTable()
    table.learn(1, [2], [1.0])
    table.learn(6, [49], [1.0])
    other = table.copy()
    table.learn(1, [3], [1.0])
    table.learn_rows([(1, 4)], [[49]], [[1.0]])
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


def test_an_index_filled_anew_expects_nothing_of_what_it_has_forgotten() -> None:
    index = ContextIndex()
    index.extend([1, 7, 2, 1, 7, 2, 1, 7])
    index.fill([])
    assert not index.expects_more()
    index.extend([1, 7, 1, 7, 1])
    assert index.expects_more()
    index.fill([])
    assert not index.expects_more()


def test_a_token_that_followed_in_earlier_texts_alone_has_that_for_evidence() -> None:
    tables = DraftTables()
    index = tables.context
    index.extend([1, 2, 3, 1, 2, 4])
    index.begin([])
    index.extend([1, 2, 3, 9, 1, 2])
    found = {token: evidence for token, evidence, _ in index.proposals(index.start([1, 2]))}
    assert set(found) == {3, 4}
    assert IN_OTHER_TEXTS in found[4]
    assert IN_OTHER_TEXTS not in found[3]
    copied = {token: evidence for token, evidence, _ in index.copy().proposals(index.start([1, 2]))}
    assert [len(evidence) for evidence in copied.values()] == [len(evidence) for evidence in found.values()]


def test_what_stood_in_another_text_is_less_likely_at_first() -> None:
    def probability(texts: list[list[int]]) -> float:
        tables = DraftTables()
        for text in texts:
            for table in tables:
                table.begin([])
            tables.extend(text)
        (probability,) = first_probabilities(tables, texts[-1]).values()
        return probability

    assert probability([[1, 2, 3], [1, 2]]) < probability([[1, 2, 3, 1, 2]])
