"""How tokens are drawn in a conversation: as asked for, with the seed that was drawn for it."""

from __future__ import annotations

import msgspec

from lade_chat.protocol import DecodingOptions, Sampling, Statistics


class Drawing:
    """A conversation has one seed, as if it had been given at the start."""

    def __init__(self, asked_for: Sampling | None) -> None:
        self.in_force = asked_for
        """As the last reply told it; before one, as it was asked for."""
        self._seed: int | None = None

    def begin(self, last: Statistics | None = None) -> None:
        """Another conversation, whose last reply had these figures."""
        drawn = last.sampling if last is not None else None
        self._seed = drawn.seed if drawn is not None else None

    def wished(self, options: DecodingOptions) -> DecodingOptions:
        """The options, with the conversation's seed where none was asked for."""
        sampling = options.sampling
        if sampling is None or sampling.seed is not None:
            return options
        return msgspec.structs.replace(options, sampling=msgspec.structs.replace(sampling, seed=self._seed))

    def learn(self, statistics: Statistics) -> bool:
        """Keep a drawn seed for the rest of the conversation; whether what is in force has changed."""
        if not statistics.steps:  # nothing was decoded
            return False
        if statistics.sampling is not None and statistics.sampling.seed is not None:
            self._seed = statistics.sampling.seed
        return self.set(statistics.sampling)

    def set(self, sampling: Sampling | None) -> bool:
        """What is in force from now on; whether that is another than before."""
        changed = sampling != self.in_force
        self.in_force = sampling
        return changed
