"""Running totals over steps: tokens by origin, forward passes, seconds."""

from __future__ import annotations

import pytest

from decoding import GenerationStats, LookaheadConfig, LookaheadDecoder, Origin, Step
from tests.models import successor_model

CYCLE = [10, 11, 12, 13]
STEPS = (
    Step((1,), (Origin.PLAIN,), forward_tokens=9, prefill=True, seconds=0.5, forward_seconds=0.25),
    Step((2, 3, 4), (Origin.CONTEXT, Origin.TRAJECTORY, Origin.PLAIN), forward_tokens=20, candidates=7, seconds=0.25),
    Step((5, 6), (Origin.CONTEXT, Origin.PLAIN), forward_tokens=8, candidates=3, seconds=0.25, forward_seconds=0.125),
)


def test_steps_are_added_up_by_origin() -> None:
    stats = GenerationStats()
    for step in STEPS:
        stats.add(step)
    assert stats == GenerationStats.of(STEPS)
    assert (stats.tokens, stats.forwards, stats.forward_tokens, stats.candidates) == (6, 3, 37, 10)
    assert stats.by_origin == {Origin.PLAIN: 3, Origin.CONTEXT: 2, Origin.TRAJECTORY: 1, Origin.SUCCESSOR: 0}
    assert (stats.accepted, stats.tokens_per_step, stats.tokens_per_second) == (3, 2.0, 6.0)
    assert (stats.seconds, stats.prefill_seconds, stats.forward_seconds) == (1.0, 0.5, 0.375)
    assert str(stats) == (
        "6 tokens in 3 forward passes, 2.00 each: 3 plain, 1 trajectory, 2 context; 1.00 s, 6.0 tokens/s"
    )


def test_totals_add_up_to_a_total() -> None:
    assert GenerationStats.of(STEPS[:1]) + GenerationStats.of(STEPS[1:]) == GenerationStats.of(STEPS)
    assert sum((GenerationStats.of([step]) for step in STEPS), GenerationStats()) == GenerationStats.of(STEPS)


def test_nothing_added_up_is_nothing() -> None:
    stats = GenerationStats()
    assert (stats.tokens, stats.accepted, stats.tokens_per_step, stats.tokens_per_second) == (0, 0, 0.0, 0.0)
    assert str(stats) == "0 tokens in 0 forward passes"


def test_a_generation_is_added_up() -> None:
    model = successor_model(dict(zip(CYCLE, [*CYCLE[1:], CYCLE[0]], strict=True)))
    steps = list(LookaheadDecoder(model, LookaheadConfig(0, 4, 2)).generate(CYCLE * 3, max_new_tokens=13))
    stats = GenerationStats.of(steps)
    assert (stats.tokens, stats.forwards) == (13, 4)
    assert stats.by_origin[Origin.CONTEXT] == stats.accepted == 9
    assert stats.seconds == pytest.approx(sum(step.seconds for step in steps))
