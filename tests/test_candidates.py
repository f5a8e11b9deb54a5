"""The sources and the tree: what is proposed, in which order, and what is forgotten."""

from __future__ import annotations

import random

import pytest

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.verification import accepted_path
from decoding.branches.window import JacobiWindow
from decoding.drafting import context_ngrams as context_module
from decoding.drafting import ngram_pool as trajectory_module
from decoding.drafting.context_ngrams import ContextIndex
from decoding.drafting.ngram_pool import NGramPool
from decoding.step import Origin


def test_shared_prefixes_are_verified_once_and_belong_to_the_first_who_proposed_them():
    tree = CandidateTree()
    assert tree.add([5, 6, 7], Origin.CONTEXT)
    assert tree.add([5, 6, 8], Origin.TRAJECTORY)
    assert not tree.add([5, 6], Origin.TRAJECTORY)
    assert tree.tokens == [5, 6, 7, 8]
    assert tree.depths == [1, 2, 3, 3]
    assert [tree.origin(node) for node in (1, 2, 3, 4)] == [Origin.CONTEXT] * 3 + [Origin.TRAJECTORY]


def test_the_walk_follows_the_models_choices_and_no_others():
    tree = CandidateTree()
    tree.add([5, 6, 7], Origin.CONTEXT)
    tree.add([5, 8], Origin.CONTEXT)
    assert accepted_path(tree, [9, 0, 0, 0, 0]) == []
    assert accepted_path(tree, [5, 9, 0, 0, 0]) == [1]
    assert accepted_path(tree, [5, 8, 0, 0, 1]) == [1, 4]
    assert accepted_path(tree, [5, 6, 7, 1, 0]) == [1, 2, 3]


def test_the_pool_keeps_the_most_recently_used_tails_of_each_token():
    pool = NGramPool()
    for tail in ([1, 1], [2, 2], [3, 3], [1, 1], [4, 4]):
        pool.add([9, *tail], guess_set_size=3)
    pool.add([8, 7, 7], guess_set_size=3)
    assert list(pool.after(9)) == [(4, 4), (1, 1), (3, 3)]
    assert list(pool.after(8)) == [(7, 7)]
    assert list(pool.after(1)) == []
    assert len(pool) == 4
    pool.add([9, 5, 5], guess_set_size=0)
    assert len(pool) == 4


def test_the_pool_is_bounded(monkeypatch):
    monkeypatch.setattr(trajectory_module, "MAX_KEYS", 10)
    pool = NGramPool()
    for token in range(50):
        pool.add([token, 1, 2], guess_set_size=2)
        pool.add([token, 3, 4], guess_set_size=2)
    assert len(pool) == 20
    assert list(pool.after(49)) == [(3, 4), (1, 2)]
    assert list(pool.after(0)) == []


def test_context_prefers_the_longest_match_then_the_most_recent():
    index = ContextIndex()
    index.extend([1, 2, 3, 50, 9, 2, 3, 51, 9, 3, 52, 1, 2, 3])
    assert list(index.after([1, 2, 3], 2)) == [
        (3, (50, 9)),
        (2, (51, 9)),
        (2, (50, 9)),
        (1, (52, 1)),
        (1, (51, 9)),
        (1, (50, 9)),
    ]


def test_context_finds_exactly_what_a_search_of_the_whole_text_finds():
    draw = random.Random(3)
    text = [draw.randrange(6) for _ in range(300)]
    index = ContextIndex()
    for at, token in enumerate(text):
        index.extend([token])
        so_far = text[: at + 1]
        for length, continuation in index.after(so_far, 4):
            suffix = so_far[-length:]
            places = [i for i in range(len(so_far) - length) if so_far[i : i + length] == suffix]
            assert any(tuple(so_far[i + length : i + length + 4]) == continuation for i in places)
        if at > 60:
            assert list(index.after(so_far, 4))


def test_no_ngram_spans_two_texts():
    index = ContextIndex()
    index.extend([1, 2, 3])
    index.begin([])
    index.extend([4, 5, 6])
    assert list(index.after([3], 4)) == []
    assert list(index.after([2], 4)) == [(1, (3,))]
    index.begin([1, 2])
    index.extend([7])
    assert list(index.after([1, 2], 4)) == [(2, (7,)), (2, (3,)), (1, (7,)), (1, (3,))]


def test_the_index_is_bounded(monkeypatch):
    monkeypatch.setattr(context_module, "MAX_TOKENS", 100)
    index = ContextIndex()
    index.extend(range(1000))
    assert 50 <= len(index) <= 100
    assert list(index.after([998], 3)) == [(1, (999,))]
    assert list(index.after([5], 3)) == []


def test_copies_go_their_own_ways():
    pool, index = NGramPool(), ContextIndex()
    pool.add([1, 2, 3], 4)
    index.extend([1, 2, 3])
    other_pool, other_index = pool.copy(), index.copy()
    pool.add([1, 5, 5], 4)
    index.extend([1, 9])
    assert list(other_pool.after(1)) == [(2, 3)]
    assert len(other_pool) == 1
    assert list(other_index.after([1], 1)) == [(1, (2,))]


def test_a_window_fills_a_row_a_step_then_rotates_and_yields_ngrams():
    window = JacobiWindow(2, 4, [10, 20])
    assert window.ngrams([11, 21]) == []
    window.advance([11, 21])
    window.advance([12, 22])
    assert len(window) == 6
    assert window.ngrams([13, 23]) == [(10, 11, 12, 13), (20, 21, 22, 23)]
    window.advance([13, 23])
    assert window.rows == [[11, 21], [12, 22], [13, 23]]


def test_the_shortest_window_collects_bigrams():
    window = JacobiWindow(3, 2, [1, 2, 3])
    assert window.ngrams([4, 5, 6]) == [(1, 4), (2, 5), (3, 6)]
    window.advance([4, 5, 6])
    assert window.rows == [[4, 5, 6]]


def test_first_guesses_come_from_the_text_and_are_the_same_for_the_same_text():
    text = [7, 8, 9, 10]
    rows = [JacobiWindow.drawn_from(text, 20, 3).rows for _ in range(2)]
    assert rows[0] == rows[1]
    assert set(rows[0][0]) <= set(text)


def test_what_is_known_of_a_window_cannot_be_written_to():
    window = JacobiWindow(3, 2, [1, 2, 3])
    for known in (window.depths(), window.visibility()):
        with pytest.raises(ValueError, match="read-only"):
            known[...] = 0
