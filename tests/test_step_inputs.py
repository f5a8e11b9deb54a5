"""One mask for both branches: its picture for each shape of step, and what sliding and chunked layers add."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
import torch

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.model.step_inputs import AttentionPattern, StepInputs, additive_mask
from decoding.step import Origin


def tree_of(*paths):
    tree = CandidateTree()
    for path in paths:
        tree.add(path, Origin.CONTEXT)
    return tree


def window_of(columns, *rows, ngram_size=9):
    window = JacobiWindow(columns, ngram_size, rows[0] if rows else [])
    for row in rows[1:]:
        window.advance(row)
    return window


NO_WINDOW = window_of(0)


@pytest.mark.parametrize(
    ("tree", "window", "picture", "depths"),
    [
        (tree_of(), NO_WINDOW, "x", [0]),
        # Two continuations with a shared first token: root, a, ab, ac.
        (
            tree_of([5, 6], [5, 7]),
            NO_WINDOW,
            """
            x...
            xx..
            xxx.
            xx.x
            """,
            [0, 1, 2, 2],
        ),
        # A window of three columns and three rows.
        (
            tree_of(),
            window_of(3, [1, 2, 3], [4, 5, 6], [7, 8, 9]),
            """
            x.........
            xx........
            xxx.......
            xxxx......
            xx..x.....
            xxx..x....
            xxxx..x...
            xx..x..x..
            xxx..x..x.
            xxxx..x..x
            """,
            [0, 1, 2, 3, 2, 3, 4, 3, 4, 5],
        ),
        # Both branches: they do not see each other.
        (
            tree_of([5, 6], [8]),
            window_of(2, [1, 2], [3, 4]),
            """
            x.......
            xx......
            xxx.....
            x..x....
            x...x...
            x...xx..
            x...x.x.
            x...xx.x
            """,
            [0, 1, 2, 1, 1, 2, 2, 3],
        ),
    ],
)
def test_the_mask_as_a_picture(tree, window, picture, depths):
    inputs = StepInputs.from_branches(9, tree, window)
    drawn = "\n".join("".join("x" if seen else "." for seen in row) for row in inputs.visible)
    assert drawn == dedent(picture).strip()
    assert inputs.depths == depths


def test_logits_are_read_for_the_last_token_the_candidates_and_the_last_row():
    inputs = StepInputs.from_branches(9, tree_of([5, 6]), window_of(2, [1, 2], [3, 4]))
    assert inputs.token_ids == [9, 5, 6, 1, 2, 3, 4]
    assert inputs.logit_rows == [0, 1, 2, 5, 6]
    assert StepInputs.from_branches(9, tree_of(), NO_WINDOW).logit_rows == [0]


def test_the_additive_mask_is_zero_where_a_token_is_seen():
    inputs = StepInputs.from_branches(9, tree_of([5, 6], [7]), window_of(2, [1, 2]))
    mask = additive_mask(inputs, 3, AttentionPattern(), torch.float32, torch.device("cpu"))
    assert mask.shape == (1, 1, 6, 9)
    assert mask.dtype == torch.float32
    assert (mask[0, 0, :, :3] == 0).all()
    assert ((mask[0, 0, :, 3:] == 0).numpy() == inputs.visible).all()
    assert set(mask.unique().tolist()) == {0.0, torch.finfo(torch.float32).min}


def test_reach_goes_by_position_not_by_index():
    """Two candidates at one position reach equally far back, though they stand at different indices."""
    inputs = StepInputs.from_branches(9, tree_of([5], [6], [7]), NO_WINDOW)
    sliding = additive_mask(inputs, 8, AttentionPattern(sliding_window=4), torch.float64, torch.device("cpu"))
    seen = (sliding[0, 0] == 0).numpy()
    assert [np.flatnonzero(row).tolist() for row in seen] == [
        [5, 6, 7, 8],
        [6, 7, 8, 9],
        [6, 7, 8, 10],
        [6, 7, 8, 11],
    ]
    chunked = additive_mask(inputs, 8, AttentionPattern(chunk_size=4), torch.float64, torch.device("cpu"))
    seen = (chunked[0, 0] == 0).numpy()
    assert [np.flatnonzero(row).tolist() for row in seen] == [[8], [8, 9], [8, 10], [8, 11]]
