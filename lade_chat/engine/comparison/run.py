"""A fair comparison of two methods: each side has its own cache and clock, and the side that is behind steps next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, Session, measure_step_cost
from lade_chat.engine.comparison.record import RaceRecord, SideRecord
from lade_chat.engine.comparison.ties import first_difference, tie_of
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder, override_generation_config
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.reply import ComparisonSide, ReplyRun, lookahead_config, lookahead_decoder
from lade_chat.engine.sampling import in_force as sampling_in_force
from lade_chat.engine.sampling import sampling_config
from lade_chat.errors import LadeChatError
from lade_chat.loading.model import LoadedModel
from lade_chat.presentation.methods import (
    FIXED,
    GENERATE,
    JACOBI,
    LOOKAHEAD,
    PLAIN,
    PROMPT_LOOKUP,
    in_force,
    race_method,
    title,
)
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Event
from lade_chat.protocol.values import DecodingOptions, Difference, MethodSpec, Side


def _lookahead(loaded: LoadedModel, method: MethodSpec) -> Decoder:
    return lookahead_decoder(loaded, lookahead_config(method.sizes))


def _generate(loaded: LoadedModel, method: MethodSpec, **settings: int) -> Decoder:
    return TransformersDecoder(loaded.model, **settings)


DECODERS: dict[str, Callable[[LoadedModel, MethodSpec], Decoder]] = {
    PLAIN: lambda loaded, method: AutoregressiveDecoder(loaded.model),
    LOOKAHEAD: _lookahead,
    FIXED: _lookahead,
    JACOBI: lambda loaded, method: JacobiDecoder(loaded.model),
    GENERATE: _generate,
    **{name: partial(_generate, prompt_lookup_num_tokens=tokens) for name, tokens in PROMPT_LOOKUP.items()},
}
"""By the names of ``lade_chat.presentation.methods``."""


WARM_UP_TOKENS = 64
WARM_UP_SIZES = (1, 8, 4, 2, 12, 6, 3, 5, 16, 7, 10, 9, 11, 14, 13, 15)
WARM_UP_SECONDS = 0.3


def compare(loaded: LoadedModel, session: Session, record: RaceRecord, command: Compare, job: Job) -> Iterator[Event]:
    """Decode one prompt with two methods, and compare the replies; the ``record`` keeps their steps.

    Each side starts from copies of ``session`` and of the costs of ``loaded``, which stay as they are, and pays for its
    own prefill. A side's clock runs only during its own steps, so neither side's figures include any of the other's
    time.
    """
    if job.stopped:
        yield from job.cancelled_events()
        return
    prompt = record.prompt

    def run(method: MethodSpec, side: Side) -> ReplyRun:
        method, raced = in_force(method, command.options.sizes), _with_own_costs(loaded)
        record.sides.append(SideRecord(method))
        compared = ComparisonSide(side, record.sides[-1], DECODERS[method.name](raced, method))
        return ReplyRun(raced, session.copy(), prompt, command.options, job, compared)

    left, right = run(command.left, "left"), run(command.right, "right")
    foreign = any(race_method(method).own_sampling for method in (command.left, command.right))
    with override_generation_config(loaded.model) if foreign else nullcontext():
        _warm_up(_with_own_costs(loaded), prompt, command)
        yield from _alternate(left, right)
    difference = _difference(loaded, prompt, command.options, left.ids, right.ids)
    record.identical, record.stopped = difference is None, job.stopped
    speedup = right.seconds / left.seconds if left.seconds > 0 else 0.0
    yield ComparisonFinished(speedup, difference is None, difference)


def _with_own_costs(loaded: LoadedModel) -> LoadedModel:
    """The model with copies of its costs, whose ledger is nobody else's."""
    step, shared = loaded.step_cost, loaded.shared_cost
    return replace(loaded, step_cost=step and step.copy(), shared_cost=shared and shared.copy())


def _warm_up(loaded: LoadedModel, prompt: Prompt, command: Compare) -> None:
    """Run both methods once: what runs for the first time, or after a pause, is slow, and one side would pay for it."""
    session = Session(loaded.model, compiled=loaded.info.compiled)
    start = prompt.ids[:WARM_UP_TOKENS]
    for method in (command.left, command.right):
        decoder = DECODERS[method.name](loaded, in_force(method, command.options.sizes))
        list(decoder.generate(start, max_new_tokens=2, eos_token_ids=(), session=session))
    if not loaded.info.bit_exact and any(race_method(each).needs_lookahead for each in (command.left, command.right)):
        # PyTorch prepares each size of a product when it first meets it.
        measure_step_cost(loaded.model, WARM_UP_SECONDS, compiled=loaded.info.compiled, sizes=WARM_UP_SIZES)


def check(command: Compare, loaded: LoadedModel) -> None:
    """Raise LadeChatError for a method that cannot race with this model and these options."""
    for method in (command.left, command.right):
        if race_method(method).needs_lookahead and not loaded.info.lookahead_supported:
            raise LadeChatError(f"{title(method)} cannot race: lookahead cannot serve this model.")
        sampling = sampling_in_force(sampling_config(command.options.sampling, loaded.model))
        if race_method(method).own_sampling and sampling is not None and sampling.seed is not None:
            raise LadeChatError(f"{title(method)} draws tokens in another way, so there is no race with sampling.")


def _alternate(left: ReplyRun, right: ReplyRun) -> Iterator[Event]:
    running = [(left, left.events()), (right, right.events())]
    try:
        while running:
            behind = min(running, key=lambda side: side[0].seconds)
            run, events = behind
            try:
                event = next(events)
            except StopIteration:
                running.remove(behind)
                continue
            run.synchronize()
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
