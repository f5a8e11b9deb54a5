"""The text of one rank on any number of them: other position encodings and masks, and windows that divide badly."""

from __future__ import annotations

from typing import Any

import pytest

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadConfig,
    LookaheadDecoder,
    SamplingConfig,
    Session,
    StepCost,
)
from decoding.parallel import ParallelLookaheadDecoder, PeerRanks, SharedStepCost
from tests.models import random_model, random_prompt
from tests.ranks import workers_in_threads

PROMPT = random_prompt(14) * 2
MOST = 16
SAMPLED = SamplingConfig(temperature=0.8, top_k=20, seed=11)
GRID = (
    (2, (5, 4, 5)),  # 3 columns and 2
    (3, (7, 3, 4)),  # 3, 2 and 2
    (5, (2, 4, 3)),  # more ranks than columns
    (5, (0, 3, 1)),  # no columns, and hardly a candidate
)
CHEAP = StepCost({1: 1.0, 128: 1.1}, live=False)


@pytest.fixture(scope="module", params=["gpt2", "gemma3"])
def models(request: pytest.FixtureRequest) -> list[Any]:
    """Learnt positions; rotary ones, and a sliding window in some layers."""
    return [random_model(request.param) for _ in range(5)]


def steps_of(decoder: Decoder, sampling: SamplingConfig | None, session: Session | None = None) -> list[Any]:
    steps = decoder.generate(PROMPT, max_new_tokens=MOST, sampling=sampling, session=session)
    return [(step.tokens, step.origins) for step in steps]


def text_of(steps: list[Any]) -> list[int]:
    return [token for tokens, _ in steps for token in tokens]


@pytest.mark.parametrize(("sampling", "grid"), [(None, GRID[::2]), (SAMPLED, GRID[1::2])], ids=["greedy", "sampled"])
def test_fixed_sizes_take_the_steps_of_one_rank(
    models: list[Any], sampling: SamplingConfig | None, grid: tuple[Any, ...]
) -> None:
    own, *others = models
    plain = text_of(steps_of(AutoregressiveDecoder(own), sampling))
    for ranks, sizes in grid:
        config = LookaheadConfig(*sizes)
        alone = steps_of(LookaheadDecoder(own, config), sampling)
        with workers_in_threads(others[: ranks - 1]) as workers:
            together = steps_of(ParallelLookaheadDecoder(own, workers, config), sampling)
        assert together == alone, (ranks, sizes)
        assert text_of(together) == plain


@pytest.mark.parametrize(("sampling", "ranks"), [(None, 5), (SAMPLED, 2)], ids=["greedy", "sampled"])
def test_automatic_sizes_give_the_plain_text(models: list[Any], sampling: SamplingConfig | None, ranks: int) -> None:
    own, *others = models
    plain = text_of(steps_of(AutoregressiveDecoder(own), sampling))
    with workers_in_threads(others[: ranks - 1]) as workers:
        decoder, session = _automatic(own, workers), Session(own)
        first = steps_of(decoder, sampling, session)
        # By now the tables know the text.
        second = steps_of(decoder, sampling, session)
    assert text_of(first) == text_of(second) == plain
    assert len(second) < len(plain) / 2


def _automatic(model: Any, workers: PeerRanks) -> ParallelLookaheadDecoder:
    return ParallelLookaheadDecoder(model, workers, cost=SharedStepCost(CHEAP, workers))
