"""How tokens are drawn in a conversation: as asked for, with the seed that was drawn for it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from lade_chat.protocol.values import DecodingOptions, Sampling, Statistics
from lade_chat.store.values import Turn

SEEDS = 2**64
"""The number of seeds there are."""


class Drawing:
    """A conversation has one seed, as if it had been given at the start."""

    def __init__(self, asked_for: Sampling | None) -> None:
        self.in_force = asked_for
        """As the last reply told it; before one, as it was asked for."""
        self._seed: int | None = None
        self._given: int | None = None
        """The seed that was asked for."""

    def begin(self, last: Statistics | None = None) -> None:
        """Another conversation, whose last reply had these figures."""
        drawn = last.sampling if last is not None else None
        self._seed = drawn.seed if drawn is not None else None

    def wished(self, options: DecodingOptions, used: Collection[int] = ()) -> DecodingOptions:
        """The options, with the conversation's seed where none was asked for.

        ``used``: seeds of other replies to the same question. Another text is wanted than those: the first seed from
        the given one on that is not among them.
        """
        sampling = options.sampling
        self._given = sampling.seed if sampling is not None else None
        if sampling is None:
            return options
        seed = self._seed if self._given is None else self._given
        while seed is not None and seed in used:
            seed = (seed + 1) % SEEDS
        return msgspec.structs.replace(options, sampling=msgspec.structs.replace(sampling, seed=seed))

    def is_greedy(self, options: DecodingOptions) -> bool:
        """True if the likeliest token is always taken, as far as that is known."""
        asked, told = options.sampling, self.in_force
        if asked is not None and asked.from_model:
            return told is None or not (told.from_model or told.seed is not None)
        return asked is None or asked.temperature == 0

    def learn(self, statistics: Statistics) -> bool:
        """Keep a drawn seed for the rest of the conversation; whether what is in force has changed."""
        if not statistics.steps:  # nothing was decoded
            return False
        if statistics.sampling is not None and statistics.sampling.seed is not None:
            self._seed = statistics.sampling.seed
        told = statistics.sampling
        if told is not None and told.seed is not None and self._given is not None:
            told = msgspec.structs.replace(told, seed=self._given)  # a reply that was asked for again had another
        return self.set(told)

    def set(self, sampling: Sampling | None) -> bool:
        """What is in force from now on; whether that is another than before."""
        changed = sampling != self.in_force
        self.in_force = sampling
        return changed


def seeds_of(turns: Iterable[Turn]) -> frozenset[int]:
    """The seeds that their replies were drawn with."""
    told = (turn.statistics.sampling for turn in turns if turn.statistics is not None)
    return frozenset(sampling.seed for sampling in told if sampling is not None and sampling.seed is not None)
