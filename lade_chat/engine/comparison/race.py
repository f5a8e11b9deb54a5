"""Two ways to decode, fairly: each side on its own cache and clock, the side that is behind taking the next step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, Session
from lade_chat.engine.comparison.ties import first_difference, tie_of
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder, own_settings_aside
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.reply import ReplyRun, config_of, lookahead_decoder
from lade_chat.engine.sampling import in_force as sampling_in_force
from lade_chat.engine.sampling import sampling_config
from lade_chat.errors import LadeChatError
from lade_chat.loading.model import LoadedModel
from lade_chat.presentation.methods import (
    DRAW_THEIR_OWN_WAY,
    FIXED,
    GENERATE,
    JACOBI,
    LOOKAHEAD,
    NEED_LOOKAHEAD,
    PROMPT_LOOKUP,
    in_force,
    title,
)
from lade_chat.protocol.commands import Race
from lade_chat.protocol.events import Event, RaceFinished
from lade_chat.protocol.values import Contender, DecodingOptions, Difference, Side

WARM_UP_TOKENS = 64


def race(
    loaded: LoadedModel,
    session: Session,
    prompt: Prompt,
    command: Race,
    stopped: Callable[[], bool],
) -> Iterator[Event]:
    """Decode one prompt in two ways, and compare.

    Both sides start from copies of ``session``, which stays as it is; each pays its own prefill. A clock runs only
    during its own side's steps, so neither side's figures hold any of the other's time.
    """
    # Whoever goes first after a pause pays for cold caches: neither side shall.
    warm_up = Session(loaded.model, compiled=loaded.info.compiled)
    start = prompt.ids[:WARM_UP_TOKENS]
    list(AutoregressiveDecoder(loaded.model).generate(start, max_new_tokens=2, eos_token_ids=(), session=warm_up))
    contenders = [in_force(each, command.options.sizes) for each in (command.left, command.right)]

    def run(contender: Contender, side: Side) -> ReplyRun:
        return ReplyRun(
            loaded,
            session.copy(),
            prompt,
            command.options,
            lookahead=lambda: contender.name in NEED_LOOKAHEAD,
            stopped=stopped,
            side=side,
            contender=contender,
            decoder=decoder_of(contender, loaded),
        )

    left, right = run(contenders[0], "left"), run(contenders[1], "right")
    foreign = any(contender.name in DRAW_THEIR_OWN_WAY for contender in contenders)
    with own_settings_aside(loaded.model) if foreign else nullcontext():
        yield from _in_turns(left, right)
    difference = _difference(loaded, prompt, command.options, left.ids, right.ids)
    speedup = right.seconds / left.seconds if left.seconds > 0 else 0.0
    yield RaceFinished(speedup, difference is None, difference)


def check(command: Race, loaded: LoadedModel) -> None:
    """Raises LadeChatError for a side that cannot race with this model and these options."""
    for contender in (command.left, command.right):
        if contender.name in NEED_LOOKAHEAD and not loaded.info.lookahead_supported:
            raise LadeChatError(f"{title(contender)} cannot race: lookahead cannot serve this model.")
        sampling = sampling_in_force(sampling_config(command.options.sampling, loaded.model))
        if contender.name in DRAW_THEIR_OWN_WAY and sampling is not None and sampling.seed is not None:
            raise LadeChatError(f"{title(contender)} draws tokens in another way, so there is no race with sampling.")


def decoder_of(contender: Contender, loaded: LoadedModel) -> Decoder:
    """What decodes so."""
    if contender.name in (LOOKAHEAD, FIXED):
        return lookahead_decoder(loaded, config_of(contender.sizes))
    if contender.name == JACOBI:
        return JacobiDecoder(loaded.model)
    if contender.name == GENERATE:
        return TransformersDecoder(loaded.model)
    if contender.name in PROMPT_LOOKUP:
        return TransformersDecoder(loaded.model, prompt_lookup_num_tokens=PROMPT_LOOKUP[contender.name])
    return AutoregressiveDecoder(loaded.model)


def _in_turns(left: ReplyRun, right: ReplyRun) -> Iterator[Event]:
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
    """Where the two texts part, and by how little; None if they are identical."""
    index = first_difference(left, right)
    if index is None:
        return None
    first, second = (side[index] if index < len(side) else None for side in (left, right))
    said = ["(the end)" if token is None else loaded.tokenizer.decode([token]) for token in (first, second)]
    if first is None or second is None:
        return Difference(index, said[0], said[1])
    sampling = sampling_config(options.sampling, loaded.model)
    seed = None if sampling is None or sampling.is_greedy else sampling.seed
    gap, ulps = tie_of(loaded.model, sampling)([*prompt.ids, *left[:index]], seed, first, second)
    return Difference(index, said[0], said[1], abs(gap), abs(ulps))
