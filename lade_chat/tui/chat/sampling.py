"""Sampling within one conversation: what was asked for, with one seed throughout."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from lade_chat.protocol.values import DecodingOptions, Sampling, Statistics
from lade_chat.store.values import Turn

SEEDS = 2**64
"""The number of distinct seeds."""


class ConversationSampling:
    """Keeps the seed that the engine drew for the first reply, as if it had been given at the start."""

    def __init__(self, requested: Sampling | None) -> None:
        self.current = requested
        """As the engine reported it with the last reply; as asked for before the first."""
        self._seed: int | None = None
        self._requested_seed: int | None = None

    def begin(self, last: Statistics | None = None) -> None:
        """Change to another conversation; ``last`` are the statistics of its last reply."""
        sampling = last.sampling if last is not None else None
        self._seed = sampling.seed if sampling is not None else None

    def applied_to(self, options: DecodingOptions, used: Collection[int] = ()) -> DecodingOptions:
        """Return the options with the conversation's seed where none was asked for.

        ``used``: seeds of other replies to the same question. As the next reply is to differ from those, it gets the
        first seed from its own on that is not among them.
        """
        sampling = options.sampling
        self._requested_seed = sampling.seed if sampling is not None else None
        if sampling is None:
            return options
        seed = self._seed if self._requested_seed is None else self._requested_seed
        while seed is not None and seed in used:
            seed = (seed + 1) % SEEDS
        return msgspec.structs.replace(options, sampling=msgspec.structs.replace(sampling, seed=seed))

    def is_greedy(self, options: DecodingOptions) -> bool:
        """Return True if decoding is greedy as far as known: a model's own sampling shows with its first reply."""
        requested, current = options.sampling, self.current
        if requested is not None and requested.from_model:
            return current is None or not (current.from_model or current.seed is not None)
        return requested is None or requested.temperature == 0

    def learn(self, statistics: Statistics) -> None:
        """Take over the sampling that a reply reports, and keep its seed for the rest of the conversation."""
        if not statistics.steps:  # nothing was decoded
            return
        sampling = statistics.sampling
        if sampling is not None and sampling.seed is not None:
            self._seed = sampling.seed
            if self._requested_seed is not None:  # a reply to a repeated question used a later one
                sampling = msgspec.structs.replace(sampling, seed=self._requested_seed)
        self.current = sampling


def seeds_of(turns: Iterable[Turn]) -> frozenset[int]:
    """Return the seeds that the replies were sampled with."""
    samplings = (turn.statistics.sampling for turn in turns if turn.statistics is not None)
    return frozenset(sampling.seed for sampling in samplings if sampling is not None and sampling.seed is not None)
