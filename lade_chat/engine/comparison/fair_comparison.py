"""A fair comparison of two methods: each side has its own cache and clock, and the side that is behind steps next."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from time import perf_counter
from typing import TypeAlias

import torch

from decoding import Decoder, Session, measure_step_cost
from lade_chat.engine.comparison.history import ComparisonRecord, SideRecord
from lade_chat.engine.comparison.ties import first_difference, tie_of
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder, override_generation_config
from lade_chat.engine.decoder_factory import DECODERS
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.reply import ReplyRun
from lade_chat.engine.sampling import sampling_config, sampling_in_force
from lade_chat.errors import LadeChatError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.presentation.methods import in_force, method_info, title
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Event
from lade_chat.protocol.values import DecodingOptions, Difference, MethodSpec, Side

WARM_UP_TOKENS = 64
WARM_UP_SIZES = (1, 8, 4, 2, 12, 6, 3, 5, 16, 7, 10, 9, 11, 14, 13, 15)
WARM_UP_SECONDS = 0.3

_RunningSide: TypeAlias = tuple[ReplyRun, Generator[Event | None]]
"""One side, with its events."""


def compare(
    loaded: LoadedModel, session: Session, record: ComparisonRecord, command: Compare, job: Job
) -> Iterator[Event]:
    """Decode one prompt with two methods, and compare the replies; the ``record`` keeps their steps.

    Each side starts from copies of ``session`` and of the costs of ``loaded``, which stay as they are, and pays for its
    own prefill. A side's clock runs only during its own steps, so its figures include no time of the other's.
    """
    if job.stopped:
        yield from job.cancelled_events()
        return
    prompt, options = record.prompt, command.options

    def started(method: MethodSpec, side: Side) -> _RunningSide:
        method = in_force(method, options.sizes)
        record.sides.append(SideRecord(method))
        run = ReplyRun(loaded, session.copy(), prompt, options, job, record=record.sides[-1], side=side)
        return run, _events(run, DECODERS[method.name](loaded, method))

    (left, _), (right, _) = running = [started(command.left, "left"), started(command.right, "right")]
    foreign = any(method_info(method).own_sampling for method in (command.left, command.right))
    with override_generation_config(loaded.model) if foreign else nullcontext():
        _warm_up(loaded, prompt, command)
        yield from _alternate(running, loaded.model.device)
    difference = _difference(loaded, prompt, options, left.ids, right.ids)
    record.identical, record.stopped = difference is None, job.stopped
    speedup = right.meter.seconds / left.meter.seconds if left.meter.seconds > 0 else 0.0
    yield ComparisonFinished(speedup, difference is None, difference)


def _events(run: ReplyRun, decoder: Decoder) -> Generator[Event | None]:
    if not isinstance(decoder, TransformersDecoder):
        yield from run.prefill()
    yield from run.decode(lambda lookahead: decoder)


def _warm_up(loaded: LoadedModel, prompt: Prompt, command: Compare) -> None:
    """Run both methods once: what runs for the first time, or after a pause, is slow, and one side would pay for it."""
    session = Session(loaded.model, compiled=loaded.info.compiled)
    start = prompt.ids[:WARM_UP_TOKENS]
    for method in (command.left, command.right):
        decoder = DECODERS[method.name](loaded, in_force(method, command.options.sizes))
        list(decoder.generate(start, max_new_tokens=2, eos_token_ids=(), session=session))
    if not loaded.info.bit_exact and any(method_info(each).needs_lookahead for each in (command.left, command.right)):
        # PyTorch prepares each size of a product when it first meets it.
        measure_step_cost(loaded.model, WARM_UP_SECONDS, compiled=loaded.info.compiled, sizes=WARM_UP_SIZES)


def check(command: Compare, loaded: LoadedModel) -> None:
    """Raise LadeChatError for a method that cannot be compared with this model and these options."""
    for method in (command.left, command.right):
        if method_info(method).needs_lookahead and not loaded.info.lookahead_supported:
            raise LadeChatError(f"{title(method)} cannot race: lookahead cannot serve this model.")
        sampling = sampling_in_force(sampling_config(command.options.sampling, loaded.model))
        if method_info(method).own_sampling and sampling is not None and sampling.seed is not None:
            raise LadeChatError(f"{title(method)} draws tokens in another way, so there is no race with sampling.")


def _alternate(running: list[_RunningSide], device: torch.device) -> Iterator[Event]:
    try:
        while running:
            run, events = behind = min(running, key=lambda side: side[0].meter.seconds)
            try:
                event = next(events)
            except StopIteration:
                running.remove(behind)
                continue
            if device.type != "cpu":
                # Wait for the accelerator on this side's clock, so that its work is not timed as the other side's.
                started = perf_counter()
                torch.accelerator.synchronize(device)
                run.meter.spend(perf_counter() - started)
            if event is not None:
                yield event
    finally:
        for _, events in running:
            events.close()


def _difference(
    loaded: LoadedModel, prompt: Prompt, options: DecodingOptions, left: list[int], right: list[int]
) -> Difference | None:
    """The first difference between the two texts, and how near a tie it was; None if they are identical."""
    index = first_difference(left, right)
    if index is None:
        return None
    first, second = (side[index] if index < len(side) else None for side in (left, right))
    texts = ["(the end)" if token is None else loaded.tokenizer.decode([token]) for token in (first, second)]
    if first is None or second is None:
        return Difference(index, texts[0], texts[1])
    sampling = sampling_config(options.sampling, loaded.model)
    seed = None if sampling is None or sampling.is_greedy else sampling.seed
    tie = tie_of(loaded.model, sampling)([*prompt.ids, *left[:index]], seed, first, second)
    return Difference(index, texts[0], texts[1], *map(abs, tie or ()))
