"""How a step falls into parts for several ranks: together they are the step, and none is much larger than another."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from decoding import Origin, StepCost
from decoding.branches.candidate_tree import ROOT, CandidateTree
from decoding.branches.verification import accepted_path
from decoding.branches.window import JacobiWindow
from decoding.model.step_inputs import StepInputs
from decoding.parallel import SharedStepCost, shared_step_cost_of
from decoding.parallel.channel import Part
from decoding.parallel.split import merge, split
from decoding.runner import runner_of
from decoding.sampling.sampler import Choices
from tests.models import random_model


def random_step(seed: int) -> tuple[CandidateTree, JacobiWindow]:
    draw = Random(seed)
    tree = CandidateTree()
    for _ in range(draw.randrange(12)):
        tree.add([draw.randrange(3) for _ in range(draw.randrange(1, 6))], Origin.CONTEXT)
    columns, ngram_size = draw.randrange(9), draw.randrange(2, 6)
    window = JacobiWindow(columns, ngram_size, [draw.randrange(90) for _ in range(columns)])
    for _ in range(draw.randrange(6)):
        window.advance([draw.randrange(90) for _ in range(columns)])
    return tree, window


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_the_parts_make_up_the_step(ranks: int) -> None:
    for seed in range(60):
        tree, window = random_step(seed)
        unread = [1 + (seed + rank) % 3 for rank in range(ranks)]
        parts = split(tree, window, unread, 0)
        assert set().union(*(part.nodes for part in parts)) == set(range(1, 1 + len(tree)))
        for part in parts:
            assert all(tree.parent(node) in (ROOT, *part.nodes) for node in part.nodes)
        if window:
            columns = [column for part in parts for column in range(part.start, part.start + part.columns)]
            assert columns == list(range(window.columns))
        loads = [own + len(part) for own, part in zip(unread, parts, strict=True)]
        # Twice over: the first row, and the first tokens of branches.
        assert max(loads) <= max(sum(unread) + len(tree) + len(window), 0) / ranks + window.columns + 5 + 3


def test_each_token_of_a_part_sees_what_it_sees_in_the_whole_step() -> None:
    for seed in range(40):
        tree, window = random_step(seed)
        whole = StepInputs.from_branches(7, tree, window)
        for part in split(tree, window, [1, 2], 0):
            unread = [5, 6, 7]
            inputs = part.inputs(unread, part.tree())
            first = 1 + len(tree)
            places = [0, *part.nodes]
            for row in range(len(part.rows)):
                start, stop = 0 if row == 0 else part.start, part.start + part.columns
                places += [first + row * window.columns + column for column in range(start, stop)]
            ends = slice(2, None)
            assert inputs.token_ids == [5, 6, *(whole.token_ids[place] for place in places)]
            assert (inputs.visible[ends, ends] == whole.visible[np.ix_(places, places)]).all()
            assert inputs.visible[ends, :2].all()
            assert not inputs.visible[:2, ends].any()
            assert inputs.visible[:2, :2].tolist() == [[True, False], [True, True]]
            assert [depth - 2 for depth in inputs.depths[ends]] == [whole.depths[place] for place in places]
            assert set(inputs.logit_rows[: 1 + len(part.nodes)]) == set(range(2, 3 + len(part.nodes)))


def test_ranks_that_differ_in_a_tie_end_the_accepted_run_there() -> None:
    tree, window = CandidateTree(), JacobiWindow(0, 2, [])
    tree.add([10, 11], Origin.CONTEXT)
    tree.add([20, 21], Origin.CONTEXT)
    parts = [Part([1, 2], [10, 11], [0, 1], 0, [], 0), Part([3, 4], [20, 21], [0, 1], 0, [], 0)]
    # Rank 0 says that 20 follows; rank 1 has it that 10 does, so it has not looked at what follows 20.
    merged = merge(tree, window, parts, [Choices([20, 11, 12], [], []), Choices([10, 99, 99], [], [])])
    accepted = accepted_path(tree, merged.tokens)
    assert [*accepted, merged.tokens[accepted[-1] if accepted else ROOT]] == [20]


def test_ranks_that_agree_accept_either_ones_candidates() -> None:
    tree, window = CandidateTree(), JacobiWindow(0, 2, [])
    tree.add([10, 11], Origin.CONTEXT)
    tree.add([20, 21], Origin.CONTEXT)
    parts = [Part([1, 2], [10, 11], [0, 1], 0, [], 0), Part([3, 4], [20, 21], [0, 1], 0, [], 0)]
    merged = merge(tree, window, parts, [Choices([20, 11, 12], [], []), Choices([20, 21, 22], [], [])])
    assert accepted_path(tree, merged.tokens) == [3, 4]
    assert merged.tokens[4] == 22


def test_a_shared_step_costs_what_its_share_costs() -> None:
    alone = StepCost({1: 1.0, 64: 64.0}, live=False)
    workers: Any = SimpleNamespace(ranks=2)
    cost = SharedStepCost(alone, workers)
    assert cost.seconds(1) == alone.seconds(1)
    assert cost.seconds(41) == pytest.approx(alone.seconds(21))
    assert cost.curve(1).costs[40] == pytest.approx(alone.curve(1).costs[20])
    workers.ranks = 4
    assert cost.curve(1).costs[40] == pytest.approx(alone.curve(1).costs[10])


def test_other_ranks_of_a_model_cost_what_their_own_number_says() -> None:
    model = random_model("llama", layers=1)
    runner_of(model).step_costs[False, False] = alone = StepCost({1: 1.0, 64: 64.0}, live=False)
    for ranks in (2, 4):
        cost = shared_step_cost_of(model, SimpleNamespace(ranks=ranks))  # type: ignore[arg-type]
        assert cost.seconds(41) == pytest.approx(alone.seconds(1 + 40 // ranks))
