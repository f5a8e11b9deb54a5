"""Steps for asyncio: each runs on a thread, so that the event loop goes on meanwhile.

>>> import asyncio
>>> async def reply(ids: list[int]) -> list[int]:
...     return [token async for step in decoder.agenerate(ids, max_new_tokens=8) for token in step.tokens]
>>> asyncio.run(reply([5, 6, 7])) == [
...     token for step in decoder.generate([5, 6, 7], max_new_tokens=8) for token in step.tokens
... ]
True
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypedDict, TypeVar, cast

from transformers.generation.logits_process import LogitsProcessor
from transformers.generation.stopping_criteria import StoppingCriteria

from decoding.arguments import EosTokenIds
from decoding.sampling.config import SamplingConfig
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe

T = TypeVar("T")


class GenerationOptions(TypedDict, total=False):
    """Keyword arguments that :meth:`Decoder.agenerate` passes on to :meth:`Decoder.generate`."""

    eos_token_ids: EosTokenIds
    sampling: SamplingConfig | None
    logits_processor: Iterable[LogitsProcessor]
    stopping_criteria: Iterable[StoppingCriteria]
    session: Session | None
    on_prefill: Callable[[int, int], None] | None
    observe: Observe | None


async def on_a_thread(steps: Iterator[Step], stop: Callable[[], None]) -> AsyncGenerator[Step, None]:
    """Yield the steps of a generation, all run on one thread.

    Args:
        steps: the iterator of :meth:`Decoder.generate`, not started.
        stop: called when the task is cancelled in the middle of a step, so that no further step starts. The
            cancellation continues when the current forward pass has ended, so that the session is consistent.
    """
    # One thread for all steps: torch keeps its modes and streams per thread.
    thread = ThreadPoolExecutor(1, thread_name_prefix="decoding")
    loop = asyncio.get_running_loop()
    try:
        while (step := await _finished(loop.run_in_executor(thread, next, steps, None), stop)) is not None:
            yield step
    finally:
        # Nothing runs on the thread any more: cancelled steps are waited for.
        cast("Generator[Step]", steps).close()
        thread.shutdown(wait=False)


async def _finished(running: asyncio.Future[T], stop: Callable[[], None]) -> T:
    """Return a call's result; a cancellation waits for the call, which cannot be interrupted."""
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        # Retrieved, or asyncio would report it as never retrieved; the caller gets the cancellation.
        running.exception()
        raise
