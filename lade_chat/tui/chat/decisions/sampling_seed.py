"""The seed that a conversation samples with: drawn for its first reply, and used for all later ones."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from lade_chat.protocol.values import DecodingOptions, Statistics
from lade_chat.store.records import Turn
from lade_chat.tui.chat.chat_state import ChatState
from lade_chat.tui.chat.effects import Change, Effects

SAME_TEXT = "Greedy decoding gives the same text to the same question. /set temperature 0.8 draws another."
SEEDS = 2**64
"""The number of distinct seeds."""


def effective_options(change: Change, used: Collection[int] = ()) -> DecodingOptions:
    """Return the present options, with the conversation's seed where none was asked for.

    ``used``: seeds of other replies to the same question. As the next reply is to differ from those, it gets the first
    seed from its own on that is not among them.
    """
    options = change.state.options
    sampling = options.sampling
    change.set(requested_seed=sampling.seed if sampling is not None else None)
    if sampling is None:
        return options
    seed = change.state.seed if sampling.seed is None else sampling.seed
    while seed is not None and seed in used:
        seed = (seed + 1) % SEEDS
    return msgspec.structs.replace(options, sampling=msgspec.structs.replace(sampling, seed=seed))


def reset_sampling(change: Change) -> None:
    """Show what the next reply is sampled with, as far as that is known before it."""
    change.set(sampling=effective_options(change).sampling)


def begin_sampling(change: Change) -> None:
    """Take over the seed of the conversation that has been opened."""
    last = change.state.conversation.last_statistics
    change.set(seed=last.sampling.seed if last is not None and last.sampling is not None else None)
    reset_sampling(change)


def learn_sampling(change: Change, statistics: Statistics) -> None:
    """Take over the sampling that a reply reports, and keep its seed for the rest of the conversation."""
    if not statistics.steps:  # nothing was decoded
        return
    sampling = statistics.sampling
    if sampling is not None and sampling.seed is not None:
        change.set(seed=sampling.seed)
        if (requested := change.state.requested_seed) is not None:  # a reply to a repeated question used a later one
            sampling = msgspec.structs.replace(sampling, seed=requested)
    change.set(sampling=sampling)


def report_asking_again(change: Change, others: Sequence[Turn], options: DecodingOptions) -> None:
    """Show the seed, or that the text will be the same, where ``others`` have answered the same question."""
    if not others:
        return
    if not _is_greedy(change.state, options):
        if options.sampling is not None and options.sampling.seed is not None:
            change.do(Effects.hint, f"Asked again with seed {options.sampling.seed}.")
    elif any(turn.ending == "eos" and turn.model == change.state.stored_model for turn in others):
        change.do(Effects.note, SAME_TEXT)


def _is_greedy(state: ChatState, options: DecodingOptions) -> bool:
    """Return True if decoding is greedy as far as known: a model's own sampling shows with its first reply."""
    requested, current = options.sampling, state.sampling
    if requested is not None and requested.from_model:
        return current is None or not (current.from_model or current.seed is not None)
    return requested is None or requested.temperature == 0


def seeds_of(turns: Iterable[Turn]) -> frozenset[int]:
    """Return the seeds that the replies were sampled with."""
    samplings = (turn.statistics.sampling for turn in turns if turn.statistics is not None)
    return frozenset(sampling.seed for sampling in samplings if sampling is not None and sampling.seed is not None)
