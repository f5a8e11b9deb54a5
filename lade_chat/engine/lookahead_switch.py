"""Lookahead on and off, also in the middle of a reply: one decoder stops after a step, and another goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from decoding import AutoregressiveDecoder, Decoder, Step
from lade_chat.engine.decoder_factory import lookahead_decoder
from lade_chat.engine.job import Job
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol.values import Sizes


def reply_decoder(loaded: LoadedModel, sizes: Sizes | None, lookahead: bool) -> Decoder:
    """Return the decoder of a reply, with lookahead on or off."""
    return lookahead_decoder(loaded, sizes) if lookahead else AutoregressiveDecoder(loaded.model)


def is_lookahead_on(job: Job, loaded: LoadedModel) -> bool:
    """Return True if the user has lookahead on, and the model supports it."""
    return job.lookahead and loaded.info.lookahead_supported


def switched_steps(
    decoder: Callable[[bool], Decoder],
    job: Job,
    loaded: LoadedModel,
    options: Callable[[], dict[str, Any]],
    is_behind: Callable[[], bool],
) -> Iterator[Step]:
    """Yield the steps of a reply until it ends or the job is stopped.

    Args:
        decoder: returns the decoder to use from here on; it is given whether lookahead is on.
        options: returns the arguments of its ``generate``, which goes on where the last decoder stopped.
        is_behind: asked after each step; True if tokens were given to the text, and decoding goes on behind them.
    """
    finished = False
    while not finished and not job.stopped:
        lookahead = is_lookahead_on(job, loaded)

        def should_stop(lookahead: bool = lookahead) -> bool:
            return job.stopped or is_lookahead_on(job, loaded) is not lookahead

        for step in decoder(lookahead).generate(should_stop=should_stop, **options()):
            yield step
            finished = step.finish_reason is not None and not is_behind()
            if is_behind():
                break
