"""Replica: one rank's hold of a text, and its part of each step after it."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.decoder import PREFILL_CHUNK
from decoding.model.prefix import KVPrefix
from decoding.parallel.part import Part
from decoding.sampling.sampler import Choices, Chooser

MOST_UNREAD = 16
"""A rank that is further behind reads on by itself first: such a forward pass needs no mask."""


class Replica:
    """A model that has read a text but for its end, at least one token, and does one rank's part of a step.

    What was accepted of another rank's candidates this one has not read; it does so in its next forward pass, together
    with the last token. So no keys or values ever move from rank to rank.
    """

    def __init__(self, prefix: KVPrefix) -> None:
        self._prefix = prefix
        # Of the last step, until it is settled: how much was read before, and how much of the text it read.
        self._before, self._read = 0, 0

    def read(self, text: Sequence[int], most_unread: int = 1) -> None:
        """Read on until so many tokens of the text are left."""
        while (behind := len(text) - self._prefix.length) > most_unread:
            at = self._prefix.length
            self._prefix.read_logits(text[at : at + min(PREFILL_CHUNK, behind - 1)])

    def look_ahead(self, text: Sequence[int], part: Part, chooser: Chooser) -> Choices:
        """One forward pass over the end of the text and this rank's part; what is chosen at its rows, in its order."""
        self.read(text, MOST_UNREAD)
        tree, unread = part.tree(), text[self._prefix.length :]
        inputs = part.lay_out(unread, tree)
        self._before, self._read = self._prefix.length, 0
        logits = self._prefix.branch_logits(inputs)
        self._read = len(unread)
        return chooser.sample_tree(logits, text, tree, part.width)

    def settle(self, accepted: Sequence[int]) -> None:
        """Keep of the last step the text that it read and the accepted candidates, by their numbers in this part."""
        if self._read:
            last = self._read - 1
            self._prefix.keep(self._before, [*range(self._read), *(last + number for number in accepted)])
            self._read = 0

    def abandon(self) -> None:
        """Keep nothing of the last step, if it was not settled."""
        if self._read:
            self._prefix.rewind(self._before)
            self._read = 0
