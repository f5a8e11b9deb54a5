"""What steps cost is measured once a model, by steps of a few sizes."""

from __future__ import annotations

from typing import Any

import pytest

from decoding import StepCost, measure_step_cost, step_cost_of, still_holds
from decoding.costs.step_cost import MAX_SPREAD, PROBE_CONTEXT
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.planning import cost_probe
from decoding.planning.cost_probe import MIN_SIZES, SIZES
from tests.models import random_model


def test_measuring_takes_a_few_sizes_however_long_they_take() -> None:
    measured = measure_step_cost(random_model("llama"), seconds=0.0)
    assert {int(size) for size in measured.as_dict()} == set(SIZES[:MIN_SIZES])
    assert all(seconds > 0 for seconds in measured.as_dict().values())


def test_measurements_far_apart_are_rough_until_live_steps_have_put_them_right(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, length = [0.0], [1e-3, 1.0]

    def now() -> float:
        clock[0] += length[0]
        length[0] *= length[1]
        return clock[0]

    monkeypatch.setattr(cost_probe, "perf_counter", now)
    monkeypatch.setattr(cost_probe, "MAX_REPEATS", 3)
    assert not measure_step_cost(random_model("llama"), seconds=60.0).is_rough
    length[1] = 1.01  # other programs take more and more of the machine
    cost = measure_step_cost(random_model("llama"), seconds=60.0)
    assert cost.spread > MAX_SPREAD
    assert cost.is_rough
    for _ in range(20):
        cost.observe(4, cost.seconds(4))
    assert not cost.is_rough


@pytest.mark.parametrize("model_type", ["llama", "gpt2"])
def test_what_attention_adds_is_measured_behind_two_lengths_of_context(
    monkeypatch: pytest.MonkeyPatch, model_type: str
) -> None:
    clock, branch_logits = [0.0], KVPrefix.branch_logits

    def timed(prefix: KVPrefix, inputs: StepInputs) -> Any:
        clock[0] += 1e-2 + (1e-6 + 2e-7 * (len(inputs) - 1)) * prefix.length
        return branch_logits(prefix, inputs)

    monkeypatch.setattr(KVPrefix, "branch_logits", timed)
    monkeypatch.setattr(cost_probe, "perf_counter", lambda: clock[0])
    cost = measure_step_cost(random_model(model_type, positions=1000))
    for context in (PROBE_CONTEXT, 5 * PROBE_CONTEXT):
        cost.move_to(context)
        assert cost.seconds(1) == pytest.approx(1e-2 + 1e-6 * context, rel=0.02)
    assert cost.seconds(16) - cost.seconds(1) == pytest.approx(3e-6 * context, rel=0.2)
    # Where a model has no positions for more, nothing is known.
    few = measure_step_cost(random_model(model_type, positions=256))
    assert not [key for key in few.as_dict() if "attention" in key]


def test_a_longer_step_also_costs_what_it_makes_plain_ones_after_it_late(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, late, branch_logits = [0.0], [0.0], KVPrefix.branch_logits

    def timed(prefix: KVPrefix, inputs: StepInputs) -> Any:
        clock[0] += 1e-2 + (late[0] if len(inputs) == 1 else 0.0)
        late[0] = 1e-4 * (len(inputs) - 1) if len(inputs) > 1 else late[0] / 2
        return branch_logits(prefix, inputs)

    monkeypatch.setattr(KVPrefix, "branch_logits", timed)
    monkeypatch.setattr(cost_probe, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(cost_probe, "QUICK_SECONDS", 0.02)
    cost = measure_step_cost(random_model("llama", positions=256))
    assert cost.seconds(1) == pytest.approx(1e-2, rel=0.02)
    for tokens in (8, 16):
        expected = 2e-4 * (tokens - 1)  # half as late with every plain step
        assert cost.aftermath(tokens) == pytest.approx(expected, rel=0.1)
        assert cost.seconds(tokens) == pytest.approx(1e-2 + expected + cost_probe.BOOKKEEPING_SECONDS, rel=0.02)
    assert StepCost.from_dict(cost.as_dict()).aftermath(8) == pytest.approx(cost.aftermath(8))


def test_with_time_all_sizes_are_measured() -> None:
    assert {int(size) for size in measure_step_cost(random_model("gpt2"), seconds=60.0).as_dict()} == set(SIZES)


@pytest.mark.parametrize("positions", [2, 8, 20, 40])
def test_no_step_is_measured_past_the_last_position(positions: int) -> None:
    """A model with learnt positions fails there."""
    model = random_model("gpt2", positions=positions)
    sizes = [int(size) for size in measure_step_cost(model, seconds=0.2).as_dict()]
    assert 1 in sizes
    assert max(sizes) < positions


def test_a_model_is_measured_once() -> None:
    model, other = random_model("gpt2", positions=20), random_model("gpt2", positions=20)
    assert step_cost_of(model) is step_cost_of(model)
    assert step_cost_of(model) is not step_cost_of(other)


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        ({1: 1.0, 8: 1.3, 16: 1.6}, True),
        ({1: 3.0, 8: 3.9, 16: 4.8}, True),  # all of the machine is slower
        ({1: 1.0, 8: 1.4, 16: 1.6}, True),
        ({1: 1.0, 8: 2.3, 16: 2.6}, False),
        ({1: 1.0, 8: 1.3, 16: 1.1}, False),
    ],
)
def test_what_is_remembered_holds_while_steps_keep_their_proportions(
    monkeypatch: pytest.MonkeyPatch, now: dict[int, float], holds: bool
) -> None:
    monkeypatch.setattr(cost_probe, "measure_step_cost", lambda *_args, **_options: StepCost(now))
    assert still_holds(random_model("llama"), StepCost({1: 0.01, 8: 0.013, 16: 0.016, 64: 0.03})) is holds
