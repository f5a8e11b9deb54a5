"""Lookahead parallelism: two processes give the text of one, and a step falls into parts that make it up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.generation.logits_process import LogitsProcessor

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadConfig,
    LookaheadDecoder,
    SamplingConfig,
    Session,
    StepCost,
    lookahead_support,
)
from decoding.parallel import Mirror, ParallelLookaheadDecoder, PeerRanks, RankError, RankLostError, SharedStepCost
from tests.models import random_model, random_prompt, tokens_of
from tests.ranks import Rank, part_of, serve_part_of, serve_replica

SIZES = ((4, 2, 3), (0, 5, 7), (15, 5, 15), (3, 4, 0))
CHEAP = StepCost({1: 1.0, 128: 1.2}, live=False)
SAMPLED = SamplingConfig(temperature=0.7, top_p=0.9, seed=3)
PROMPT = random_prompt(20) * 2


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model("mistral", layers=3)


@pytest.fixture(scope="module")
def rank() -> Iterator[Rank]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
            patch.setenv(name, "0")
        rank = Rank()
        yield rank
        rank.close()


@pytest.fixture
def workers(rank: Rank) -> Iterator[PeerRanks]:
    workers = PeerRanks([rank.begin(partial(serve_replica, "mistral"))])
    yield workers
    workers.close()


def said(decoder: Decoder, session: Session | None = None, **options: Any) -> list[int]:
    options = {"max_new_tokens": 30, **options}
    return tokens_of(decoder.generate(PROMPT, session=session, **options))


def test_every_step_is_that_of_one_process(model: Any, workers: PeerRanks) -> None:
    for sizes, sampling in zip(SIZES, cycle((None, SAMPLED)), strict=False):
        config = LookaheadConfig(*sizes)
        alone = LookaheadDecoder(model, config).generate(PROMPT, max_new_tokens=20, sampling=sampling)
        together = ParallelLookaheadDecoder(model, workers, config).generate(
            PROMPT, max_new_tokens=20, sampling=sampling
        )
        told = [[(step.tokens, step.origins, step.forward_tokens) for step in steps] for steps in (alone, together)]
        assert told[0] == told[1], (sizes, sampling)


def test_automatic_sizes_give_the_text_of_plain_decoding(model: Any, workers: PeerRanks) -> None:
    cost = SharedStepCost(CHEAP, workers)
    decoder = ParallelLookaheadDecoder(model, workers, cost=cost)
    for sampling in (None, SAMPLED):
        expected = said(AutoregressiveDecoder(model), sampling=sampling, max_new_tokens=40)
        session = Session(model)
        # The second time the tables know the text, so that long runs are accepted of either rank's candidates.
        for _ in range(2):
            assert said(decoder, session, sampling=sampling, max_new_tokens=40) == expected


def test_decoders_take_turns_on_one_session(model: Any, workers: PeerRanks) -> None:
    session, found = Session(model), list[int]()
    decoders = (
        ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5)),
        AutoregressiveDecoder(model),
        LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    )
    for decoder in decoders * 4:
        steps = decoder.generate([*PROMPT, *found], max_new_tokens=20, session=session)
        for _, step in zip(range(2), steps, strict=False):
            found.extend(step.tokens)
    assert found == said(AutoregressiveDecoder(model), max_new_tokens=len(found))


def test_no_rank_holds_much_more_than_its_share(model: Any, workers: PeerRanks) -> None:
    decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(15, 5, 15))
    steps = decoder.generate(PROMPT, max_new_tokens=25)
    held = [(workers.share_tokens, step.forward_tokens) for step in steps if not step.prefill]
    # The window's first row and what another rank has accepted are read twice.
    assert all(share <= whole / 2 + 15 / 2 + 5 + 5 for share, whole in held)
    assert sum(share for share, _ in held) < 0.7 * sum(whole for _, whole in held)


class OnlyEven(LogitsProcessor):
    """A caller's own, which every rank has to have."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        return scores.masked_fill(scores.new_tensor([index % 2 for index in range(scores.shape[-1])]).bool(), -1e9)


def test_logits_processors_reach_the_workers(model: Any, workers: PeerRanks) -> None:
    decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
    for options in (
        {"logits_processor": [OnlyEven()]},
        {"sampling": SamplingConfig(repetition_penalty=1.3, temperature=0.9, seed=1)},
    ):
        assert said(decoder, **options) == said(AutoregressiveDecoder(model), **options)


def test_a_processor_that_cannot_be_sent_is_named(model: Any, workers: PeerRanks) -> None:
    class Local(OnlyEven):
        pass

    with pytest.raises(ValueError, match="logits processor cannot be sent"):
        said(ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5)), logits_processor=[Local()])


class Failing(LogitsProcessor):
    """Fails in every process but the one that made it."""

    def __init__(self) -> None:
        self.here = True

    def __getstate__(self) -> dict[str, bool]:
        return {"here": False}

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if not self.here:
            raise MemoryError("no room")
        return scores


def test_a_worker_that_fails_says_why_and_goes_on(model: Any, workers: PeerRanks) -> None:
    session, decoder = Session(model), ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
    with pytest.raises(RankError, match="MemoryError: no room"):
        said(decoder, session, logits_processor=[Failing()])
    assert said(decoder, session) == said(AutoregressiveDecoder(model))


class FailingLater(LogitsProcessor):
    """Fails in every process, once a text has grown by a few tokens."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if input_ids.shape[-1] > len(PROMPT) + 2:
            raise ZeroDivisionError("too long")
        return scores


def test_what_fails_on_every_rank_is_told_once(model: Any, workers: PeerRanks) -> None:
    session, decoder = Session(model), ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
    with pytest.raises(ZeroDivisionError, match="too long"):
        said(decoder, session, logits_processor=[FailingLater()])
    assert said(decoder, session) == said(AutoregressiveDecoder(model))


def test_a_model_split_over_two_processes_says_what_the_whole_one_says(rank: Rank, tmp_path: Path) -> None:
    whole = random_model("llama", layers=1)
    whole.save_pretrained(tmp_path)
    channel = rank.begin(partial(serve_part_of, str(tmp_path)))
    part = part_of(str(tmp_path))
    mirror = Mirror(part, [channel])
    assert lookahead_support(part).supported
    try:
        for sampling in (None, SAMPLED):
            expected = said(AutoregressiveDecoder(whole), sampling=sampling, max_new_tokens=12)
            session = Session(part)
            for decoder in (
                AutoregressiveDecoder(part),
                LookaheadDecoder(part, LookaheadConfig(5, 4, 5)),
                LookaheadDecoder(part, cost=CHEAP),
            ):
                # A copy of a session is one of its own on every rank.
                assert said(decoder, session.copy(), sampling=sampling, max_new_tokens=12) == expected
                assert said(decoder, session, sampling=sampling, max_new_tokens=12) == expected
        ids = torch.tensor([PROMPT])
        logits = part(input_ids=ids, use_cache=False, logits_to_keep=2).logits
        assert torch.allclose(logits, whole(input_ids=ids, use_cache=False, logits_to_keep=2).logits)
        with pytest.raises(NotImplementedError, match="split over processes"):
            part.generate(ids, max_new_tokens=2)
    finally:
        mirror.close()


def test_a_worker_that_dies_leaves_a_session_that_goes_on(model: Any, rank: Rank, workers: PeerRanks) -> None:
    session = Session(model)
    decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
    steps = decoder.generate(PROMPT, max_new_tokens=30, session=session)
    found = [token for _, step in zip(range(8), steps, strict=False) for token in step.tokens]
    rank.kill()
    with pytest.raises(RankLostError, match="rank 1"):
        next(steps)
    assert session.ids == [*PROMPT, *found]
    assert workers.ranks == 1
    steps = decoder.generate(session.ids, max_new_tokens=30 - len(found), session=session)
    found += tokens_of(steps)
    assert found == said(AutoregressiveDecoder(model))
