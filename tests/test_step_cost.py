"""What a step costs: read off a curve, stored, and kept up to date by live steps."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from decoding import StepCost, lookahead_support, measure_step_cost, step_cost_of
from decoding.costs.step_cost import MAX_CANDIDATES, PROBE_CONTEXT
from tests.models import random_model

CURVE = {1: 1.0, 4: 1.2, 16: 2.0, 64: 5.0}


@pytest.mark.parametrize(
    ("seconds", "offender"),
    [
        ({}, "1 token"),
        ({2: 1.0}, "1 token"),
        ({1: 1.0, 7: 0.0}, "over 7 tokens cannot take 0.0"),
        ({1: -2.5}, "over 1 tokens cannot take -2.5"),
        ({1: 1.0, 9: float("nan")}, "over 9 tokens cannot take nan"),
        ({1: 1.0, 9: float("inf")}, "over 9 tokens cannot take inf"),
        ({1: 1.0, 0: 0.5}, "over 0 tokens"),
        ({1: 1.0, -3: 0.5}, "over -3 tokens"),
        ({1: 1.0, 1.5: 2.0}, "number of tokens must be a whole number, not 1.5"),
        ({1: 1.0, "8": 2.0}, "number of tokens must be a whole number, not '8'"),
        (None, "the seconds of steps must be a Mapping, not None"),
    ],
)
def test_a_figure_out_of_range_is_named(seconds: Mapping[int, float], offender: str) -> None:
    with pytest.raises(ValueError, match=offender):
        StepCost(seconds)


@pytest.mark.parametrize(
    ("further", "offender"),
    [
        ({"attention": (0.1,)}, r"attention must be two numbers of seconds, not \(0.1,\)"),
        ({"attention": 0.1}, "attention must be two numbers of seconds, not 0.1"),
        ({"spread": "wide"}, "spread must be a number, not 'wide'"),
    ],
)
def test_what_is_of_another_kind_is_named(further: dict[str, Any], offender: str) -> None:
    with pytest.raises(ValueError, match=offender):
        StepCost({1: 1.0, 8: 2.0}, **further)


@pytest.mark.parametrize(
    ("stored", "offender"),
    [
        (None, "NoneType"),
        ([1.0], "list"),
        ({}, "1 token"),
        ({"1": None}, "NoneType"),
        ({"1": "soon"}, "soon"),
        ({"1": 1.0, "many": 2.0}, "many"),
        ({"1": 1.0, "4000000000": 2.0}, "not 4000000000"),
        ({"1": 1.0, "8": -1.0}, "over 8 tokens cannot take -1.0"),
    ],
)
def test_what_was_stored_and_broke_is_refused_by_name(stored: Any, offender: str) -> None:
    with pytest.raises(ValueError, match=offender):
        StepCost.from_dict(stored)


def test_a_model_without_such_steps_is_refused_with_the_reason() -> None:
    for model in (random_model("mamba"), random_model("bloom")):
        reason = lookahead_support(model).reason
        for measured in (measure_step_cost, step_cost_of):
            with pytest.raises(NotImplementedError) as refused:
                measured(model)
            assert reason is not None
            assert str(refused.value).endswith(reason)


@pytest.mark.parametrize(
    ("sizes", "offender"), [((2, 4), "among them: (2, 4)"), ((), "among them"), ((1, 0), "not 0"), ((1, 2.5), "2.5")]
)
def test_sizes_of_no_steps_are_refused_by_name(sizes: Any, offender: str) -> None:
    with pytest.raises(ValueError, match=re.escape(offender)):
        measure_step_cost(random_model("llama", layers=1), sizes=sizes)


def test_what_was_stored_is_what_comes_back() -> None:
    cost = StepCost(CURVE)
    again = StepCost.from_dict(json.loads(json.dumps(cost.as_dict())))
    assert again.as_dict() == cost.as_dict() == {"1": 1.0, "4": 1.2, "16": 2.0, "64": 5.0}
    assert [again.seconds(tokens) for tokens in range(1, 200)] == [cost.seconds(tokens) for tokens in range(1, 200)]


def test_what_attention_costs_is_stored_as_it_was_measured() -> None:
    cost = StepCost(CURVE, attention=(0.001, 0.0002))
    cost.move_to(5000)
    again = StepCost.from_dict(json.loads(json.dumps(cost.as_dict())))
    again.move_to(5000)
    assert [again.seconds(tokens) for tokens in range(1, 200)] == pytest.approx(
        [cost.seconds(tokens) for tokens in range(1, 200)]
    )


@pytest.mark.parametrize("broken", [-1.0, float("nan"), float("inf"), "dear"])
def test_a_broken_cost_of_attention_is_refused(broken: Any) -> None:
    with pytest.raises(ValueError, match="attention"):
        StepCost(CURVE, attention=(broken, 0.0))


def test_what_live_steps_have_taught_comes_back_too() -> None:
    cost = StepCost(CURVE)
    for _ in range(320):
        cost.observe(16, 6.0)
    again = StepCost.from_dict(cost.as_dict())
    assert [again.seconds(tokens) for tokens in CURVE] == pytest.approx([cost.seconds(tokens) for tokens in CURVE])


def test_between_sizes_measured_the_cost_lies_on_a_line() -> None:
    cost = StepCost(CURVE)
    assert [cost.seconds(tokens) for tokens in (1, 4, 16, 64)] == [1.0, 1.2, 2.0, 5.0]
    assert [cost.seconds(tokens) for tokens in (10, 40)] == pytest.approx([1.6, 3.5])


def test_beyond_them_it_rises_as_steeply_as_the_outer_half() -> None:
    assert StepCost({1: 1.0, 10: 2.0, 20: 4.0}).seconds(30) == pytest.approx(6.0)
    # One figure tells nothing of more tokens; where the outer half falls, something has disturbed it.
    assert StepCost({1: 1.0}).seconds(50) == pytest.approx(1.0)
    assert StepCost({1: 1.0, 11: 5.0, 21: 3.0}).seconds(41) == pytest.approx(4.0)


def test_the_budgets_curve_is_in_plain_steps_and_starts_at_what_is_fixed() -> None:
    cost = StepCost({size: 0.02 * seconds for size, seconds in CURVE.items()})
    relative = cost.relative(120)
    assert relative[1] == 1.0
    np.testing.assert_allclose(relative[1:], [cost.seconds(tokens) / cost.seconds(1) for tokens in range(1, 121)])
    for fixed in (1, 4, 13):
        curve = cost.curve(fixed)
        assert len(curve.costs) == len(curve.slopes) == MAX_CANDIDATES + 1
        assert curve.costs == cost.relative(fixed + MAX_CANDIDATES)[fixed:].tolist()


@pytest.mark.parametrize("factor", [0.3, 0.8, 1.5, 4.0])
def test_a_machine_that_got_faster_or_slower_is_noticed_at_every_size(factor: float) -> None:
    cost = StepCost(CURVE)
    for turn in range(320):
        size = (1, 4, 16, 64)[turn % 4]
        cost.observe(size, factor * CURVE[size])
    for size, seconds in CURVE.items():
        assert cost.seconds(size) == pytest.approx(factor * seconds, rel=0.1)
    # In plain steps nothing has changed, so the budget stays what it was.
    sizes = list(CURVE)
    np.testing.assert_allclose(cost.relative(64)[sizes], StepCost(CURVE).relative(64)[sizes], rtol=0.1)


def test_a_size_that_got_dearer_than_others_changes_the_curve_there() -> None:
    cost = StepCost(CURVE)
    before = cost.curve(1).costs[15]
    for _ in range(320):
        cost.observe(1, 1.0)
        cost.observe(16, 4.0)
    assert cost.seconds(16) / cost.seconds(1) == pytest.approx(4.0, rel=0.1)
    assert cost.curve(1).costs[15] > 1.5 * before


def test_a_cost_that_live_steps_show_to_be_too_high_is_believed_no_longer() -> None:
    cost = StepCost({1: 1.0, 4: 5.0, 16: 6.0})
    assert cost.is_doubtful
    assert cost.curve(1).for_trial().costs[3] == pytest.approx(2.0)
    while cost.is_doubtful:
        cost.observe(4, 1.2)
    assert cost.in_plain_steps(4) < 2.0
    assert cost.in_plain_steps(16) < 4.0
    assert not StepCost({1: 1.0, 4: 5.0}, live=False).is_doubtful


def test_attention_makes_steps_behind_more_context_dearer() -> None:
    cost = StepCost(CURVE, attention=(0.001, 0.0002))
    cost.move_to(PROBE_CONTEXT + 1000)
    assert cost.seconds(1) == pytest.approx(2.0, rel=0.05)
    assert cost.seconds(16) == pytest.approx(2.0 + 1.0 + 15 * 0.2, rel=0.05)
    assert cost.seconds(100) > cost.seconds(64) > cost.seconds(16)
    assert cost.curve(1).costs[15] == cost.in_plain_steps(16) == pytest.approx(3.0, rel=0.05)
    for short in (PROBE_CONTEXT, 0):
        cost.move_to(short)
        assert [cost.seconds(tokens) for tokens in range(1, 200)] == [StepCost(CURVE).seconds(t) for t in range(1, 200)]


def test_live_steps_behind_much_context_teach_those_behind_little() -> None:
    cost, slower = StepCost(CURVE, attention=(0.001, 0.0002)), 1.5
    cost.move_to(3000)
    expected = {tokens: slower * cost.seconds(tokens) for tokens in CURVE}
    for _ in range(320):
        for tokens, seconds in expected.items():
            cost.observe(tokens, seconds)
    assert [cost.seconds(tokens) for tokens in CURVE] == pytest.approx(list(expected.values()), rel=0.05)
    cost.move_to(PROBE_CONTEXT)
    assert [cost.seconds(tokens) for tokens in CURVE] == pytest.approx(
        [slower * each for each in CURVE.values()], rel=0.1
    )


def test_one_outlier_hardly_counts_and_is_forgotten() -> None:
    cost = StepCost(CURVE)
    cost.observe(16, 1000.0)
    assert cost.seconds(16) < 1.15 * CURVE[16]
    for _ in range(160):
        for size, seconds in CURVE.items():
            cost.observe(size, seconds)
    for size, seconds in CURVE.items():
        assert cost.seconds(size) == pytest.approx(seconds, rel=0.05)


def test_what_a_busy_while_has_taught_is_forgotten_text_by_text() -> None:
    """Else nothing would: a size that does not seem to pay is not taken."""
    cost = StepCost(CURVE)
    for _ in range(40):
        cost.observe(16, 2 * CURVE[16])
    late = [cost.in_plain_steps(16)]
    for _ in range(8):
        cost.begin_text()
        late.append(cost.in_plain_steps(16))
    assert late == sorted(late, reverse=True)
    assert late[0] > 1.5 * CURVE[16]
    assert late[-1] == pytest.approx(CURVE[16], rel=0.1)


def test_what_steps_take_less_than_measured_is_not_forgotten() -> None:
    cost = StepCost(CURVE)
    for _ in range(40):
        cost.observe(16, 0.7 * CURVE[16])
    quick = cost.in_plain_steps(16)
    cost.begin_text()
    assert cost.in_plain_steps(16) == quick


def test_the_curve_is_not_drawn_anew_for_every_step() -> None:
    """Drawing takes longer than a small model's step, so most steps find the curve of the last."""
    cost = StepCost(CURVE)
    drawn = 0
    for tokens in [16] * 4 + [1] * 320 + [16] * 320:
        before = cost.curve(1)
        cost.observe(tokens, CURVE[tokens])
        drawn += cost.curve(1) is not before
    assert 0 < drawn < 40


def test_sizes_never_measured_can_be_observed() -> None:
    cost = StepCost(CURVE)
    for _ in range(320):
        cost.observe(9, 3.0)
        cost.observe(200, 30.0)
    assert cost.seconds(9) < cost.seconds(200)
    assert all(0 < cost.seconds(tokens) < float("inf") for tokens in range(1, 300))


def test_without_live_steps_nothing_moves_it() -> None:
    cost = StepCost(CURVE, live=False)
    curve = cost.curve(5)
    for _ in range(100):
        cost.observe(16, 9.0)
    assert cost.as_dict() == StepCost(CURVE).as_dict()
    assert cost.curve(5) is curve


def test_a_step_over_one_token_is_never_believed_dearer_than_a_wider_one() -> None:
    cost = StepCost({1: 10.3e-3, 2: 3.4e-3, 8: 6.6e-3})  # as measured beside other programs
    assert [cost.seconds(tokens) for tokens in (1, 2, 8)] == pytest.approx([3.4e-3, 3.4e-3, 6.6e-3])
