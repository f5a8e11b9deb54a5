"""Steps for asyncio: off the event loop, cancelled cleanly, the session whole."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from typing import Any

import pytest

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    FinishReason,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
)
from tests.models import hf_greedy, random_model, random_prompt, tokens_of

PROMPT = random_prompt(9)
WAIT_SECONDS = 30
"""Far longer than anything here takes; a test that would wait for ever fails instead."""


@pytest.fixture(scope="module")
def model() -> Any:
    return random_model("llama", layers=1)


def lookahead(model: Any) -> LookaheadDecoder:
    return LookaheadDecoder(model, LookaheadConfig(3, 3, 3))


@pytest.mark.parametrize("kind", [AutoregressiveDecoder, JacobiDecoder, lookahead])
async def test_the_steps_are_those_of_generate(model: Any, kind: Any) -> None:
    decoder: Decoder = kind(model)
    expected = [(step.tokens, step.origins) for step in decoder.generate(PROMPT, max_new_tokens=20)]
    steps = [step async for step in decoder.agenerate(PROMPT, max_new_tokens=20, session=Session(model))]
    assert [(step.tokens, step.origins) for step in steps] == expected
    assert steps[-1].finish_reason is FinishReason.LENGTH


async def test_the_event_loop_runs_while_the_model_does(model: Any) -> None:
    """Each step waits for the event loop, which could not answer if the step were taken on it."""
    loop, threads = asyncio.get_running_loop(), set[int]()

    async def answer() -> None:
        await asyncio.sleep(0)

    def criterion(ids: Any, scores: Any) -> Any:
        threads.add(threading.get_ident())
        asyncio.run_coroutine_threadsafe(answer(), loop).result(WAIT_SECONDS)
        return ids.new_zeros(1).bool()

    steps = [step async for step in lookahead(model).agenerate(PROMPT, max_new_tokens=6, stopping_criteria=[criterion])]
    assert sum(len(step.tokens) for step in steps) == 6
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_cancelled_within_a_step_the_session_is_whole(model: Any) -> None:
    loop, session, decoder = asyncio.get_running_loop(), Session(model), lookahead(model)
    seen, cancelled = list[int](), threading.Event()

    async def read() -> None:
        async for step in decoder.agenerate(PROMPT, max_new_tokens=30, session=session, stopping_criteria=[criterion]):
            seen.extend(step.tokens)

    async def cancel() -> None:
        cancelled.set()
        task.cancel()
        await asyncio.sleep(0.01)
        task.cancel()

    def criterion(ids: Any, scores: Any) -> Any:
        if len(seen) >= 5 and not cancelled.is_set():
            asyncio.run_coroutine_threadsafe(cancel(), loop).result(WAIT_SECONDS)
        return ids.new_zeros(1).bool()

    task = asyncio.create_task(read())
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT_SECONDS)
    expected = hf_greedy(model, PROMPT, 30)
    said = session.ids[len(PROMPT) :]
    assert len(seen) <= len(said) < 30
    assert said == expected[: len(said)]
    assert session.cached == len(session.ids) - 1
    rest = [
        token
        async for step in decoder.agenerate(session.ids, max_new_tokens=30 - len(said), session=session)
        for token in step.tokens
    ]
    assert said + rest == expected


async def test_cancelled_within_a_long_prompt_no_further_chunk_is_read() -> None:
    model = random_model("llama", positions=4096)
    loop, session, prompt = asyncio.get_running_loop(), Session(model), random_prompt(1800)

    async def cancel() -> None:
        task.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def on_prefill(read: int, total: int) -> None:
        asyncio.run_coroutine_threadsafe(cancel(), loop).result(WAIT_SECONDS)

    async def read() -> None:
        steps = AutoregressiveDecoder(model).agenerate(prompt, max_new_tokens=3, session=session, on_prefill=on_prefill)
        async for _ in steps:
            pass

    task = asyncio.create_task(read())
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, WAIT_SECONDS)
    assert 0 < session.cached < 1100
    steps = AutoregressiveDecoder(model).generate(prompt, max_new_tokens=3, session=session)
    assert tokens_of(steps) == hf_greedy(model, prompt, 3)


async def test_left_between_two_steps_it_can_be_gone_on_from(model: Any) -> None:
    session, said = Session(model), list[int]()
    async with aclosing(lookahead(model).agenerate(PROMPT, max_new_tokens=20, session=session)) as steps:
        async for step in steps:
            said.extend(step.tokens)
            if len(said) > 6:
                break
    assert session.ids == PROMPT + said
    rest = lookahead(model).generate(session.ids, max_new_tokens=20 - len(said), session=session)
    assert said + tokens_of(rest) == hf_greedy(model, PROMPT, 20)


async def test_should_stop_is_asked(model: Any) -> None:
    asked = iter([False, False, False, True])
    steps = AutoregressiveDecoder(model).agenerate(PROMPT, max_new_tokens=20, should_stop=lambda: next(asked))
    assert len([step async for step in steps]) < 4


async def test_errors_are_the_callers(model: Any) -> None:
    with pytest.raises(ValueError, match="max_new_tokens"):
        lookahead(model).agenerate(PROMPT, max_new_tokens=0)

    def broken(ids: Any, scores: Any) -> Any:
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        async for _ in lookahead(model).agenerate(PROMPT, max_new_tokens=3, stopping_criteria=[broken]):
            pass
