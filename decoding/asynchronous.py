"""Steps for asyncio: each is taken on a thread, so that the event loop runs while the model does.

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
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict, TypeVar, cast

if TYPE_CHECKING:
    from transformers import StoppingCriteria
    from transformers.generation.logits_process import LogitsProcessor

    from decoding.arguments import EosTokenIds
    from decoding.sampling.config import SamplingConfig
    from decoding.session import Session
    from decoding.step import Step
    from decoding.step_detail import Observe

T = TypeVar("T")


class GenerationOptions(TypedDict, total=False):
    """Keyword arguments that :meth:`Decoder.agenerate` hands to :meth:`Decoder.generate` as they are."""

    eos_token_ids: EosTokenIds
    sampling: SamplingConfig | None
    logits_processor: Sequence[LogitsProcessor]
    stopping_criteria: Sequence[StoppingCriteria]
    session: Session | None
    on_prefill: Callable[[int, int], None] | None
    observe: Observe | None


async def on_a_thread(steps: Iterator[Step], stop: Callable[[], None]) -> AsyncGenerator[Step, None]:
    """Yield the steps of a generation, each taken on one thread of its own.

    Args:
        steps: those of :meth:`Decoder.generate`, not begun.
        stop: called when the task is cancelled in the middle of a step: nothing further is begun then, and the
            cancellation goes on once the forward pass under way has ended, so that the session is whole.
    """
    # One thread for all steps: what torch keeps for each thread (modes, streams) is the same from step to step.
    thread = ThreadPoolExecutor(1, thread_name_prefix="decoding")
    loop = asyncio.get_running_loop()
    try:
        while (step := await _finished(loop.run_in_executor(thread, next, steps, None), stop)) is not None:
            yield step
    finally:
        # Nothing runs on the thread here: a cancelled step has been waited for.
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
        # Looked at, so that asyncio does not report it as overlooked: the cancellation is what the caller hears of.
        running.exception()
        raise
