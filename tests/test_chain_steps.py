"""Steps of models with a recurrent state: one chain of candidates each, what is read again, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadDecoder,
    Session,
    Step,
    measure_step_cost,
)
from decoding.costs.step_cost import CostCurve
from decoding.drafting.expander import CandidateExpander, SearchNode
from decoding.plain_step import MAX_REREADS
from decoding.planning.candidate_budget import select_chain
from tests.chain_models import (
    BACKWARDS,
    DECODERS,
    LENGTH,
    REST,
    SEVERAL,
    SOME,
    model_of,
    prompt,
    said,
)
from tests.costs import PROHIBITIVE, budgeted
from tests.evidence import followers_of
from tests.models import tokens_of
from tests.pairs import pairs
from tests.test_candidate_budget import random_costs, random_expander

CUT_BACK = ("inkling_text", "lfm2", "lfm2_moe", "lfm3")
"""Convolutions alone, which are cut back: nothing is read again."""


@pytest.fixture(scope="module", params=SEVERAL)
def model(request: pytest.FixtureRequest) -> Any:
    return model_of(request.param)


def steps_and_rereads(model: Any, decoder: Decoder, count: int = 45) -> Iterator[tuple[int, Step]]:
    """The steps after the prompt's, each with the tokens that it had to read again."""
    session = Session(model)
    rereads = 0
    for step in decoder.generate(prompt(), max_new_tokens=count, session=session):
        if not step.prefill:
            yield rereads, step
        rereads = session.prefix.rereads


@pytest.mark.parametrize(("model", "name"), pairs(SEVERAL, BACKWARDS), indirect=["model"])
def test_a_step_reads_again_what_was_accepted_behind_the_kept_state(model: Any, name: str) -> None:
    cut_back = model.config.model_type in CUT_BACK
    steps = list(steps_and_rereads(model, DECODERS[name](model)))
    assert any(rereads for rereads, _ in steps) == (not cut_back)
    for (rereads, step), (again, _) in pairwise(steps):
        assert step.window_size == 0
        assert step.forward_tokens == rereads + 1 + step.candidates
        all_accepted = step.accepted == step.candidates
        assert again == (0 if cut_back or all_accepted else rereads + 1 + step.accepted)
    assert all(step.candidates == 0 for rereads, step in steps if rereads > MAX_REREADS)


@pytest.mark.parametrize("model", SOME, indirect=True)
def test_candidates_are_one_chain(model: Any) -> None:
    for name in ("budgeted", "fixed"):
        details: list[Any] = []
        said(DECODERS[name](model), prompt(), 40, observe=details.append)
        assert any(len(detail.candidates) > 1 for detail in details)
        for detail in details:
            assert detail.parents == tuple(range(len(detail.candidates)))
            assert not detail.rows


@pytest.mark.parametrize("model", REST, indirect=True)
def test_nothing_is_verified_where_it_does_not_pay(model: Any) -> None:
    steps = list(budgeted(model, PROHIBITIVE).generate(prompt(), max_new_tokens=40))
    assert [step.candidates for step in steps] == [0] * 40


@pytest.mark.parametrize("model", SOME, indirect=True)
def test_the_cost_of_chains_is_measured(model: Any) -> None:
    cost = measure_step_cost(model, 0.01, sizes=(1, 2, 4))
    assert cost.seconds(4) > 0
    assert tokens_of(LookaheadDecoder(model, cost=cost).generate(prompt(), max_new_tokens=LENGTH)) == said(
        AutoregressiveDecoder(model), prompt()
    )


def chains(expander: CandidateExpander, node: SearchNode, max_depth: int) -> Iterator[list[float]]:
    """Yield every chain behind a node, as the probabilities of its candidates."""
    yield []
    for child in followers_of(expander, node) if node.depth < max_depth else ():
        for rest in chains(expander, child, max_depth):
            yield [child.probability, *rest]


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("rereading", [None, 1, 6])
def test_no_chain_promises_more_for_its_time(seed: int, rereading: int | None) -> None:
    draw = Random(seed)
    expander, costs, max_depth = random_expander(draw), random_costs(draw), draw.randint(1, 2)
    curve = CostCurve(costs)
    most = min(max_depth, len(costs) - 1)
    last = min(16, len(costs) - 1)
    price = max(0.0, (costs[last] - costs[1]) / (last - 1)) if last > 1 and rereading else 0.0

    def promise(chain: list[float]) -> float:
        reached = [1.0, *chain]
        # The state is left behind as the k-th candidate is rejected: what precedes it is read again.
        again = sum((before - after) * ((rereading or 0) + at) for at, (before, after) in enumerate(pairwise(reached)))
        return sum(reached) / (costs[len(chain)] + price * again)

    best = max(promise(chain) for chain in chains(expander, expander.root, most))
    tree, followers = select_chain(expander, curve, max_depth, rereading)
    assert promise(tree.probabilities) == pytest.approx(best, rel=1e-12)
    assert all(token in followers[parent].evidence for parent, token in enumerate(tree.tokens))
    assert tree.parents == [*range(len(tree))]
    assert tree.depths == [*range(1, 1 + len(tree))]
