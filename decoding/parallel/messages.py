"""What rank 0 tells its workers and they answer, as whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding.parallel.part import Part
from decoding.sampling.sampler import Choices

_ABANDONED = -1


@dataclass(frozen=True)
class Instruction:
    """How a worker's last step ended, what the text is now, and its part of the next step, if any.

    Attributes:
        number: of the step, so that the answer to another one is known as such.
        accepted: which candidates of its last part are kept; None if that step came to nothing.
        shared: so many tokens of the text that the worker knows are still the text.
        tail: the tokens behind them.
        part: None to read on only.
    """

    number: int
    accepted: Sequence[int] | None
    shared: int
    tail: Sequence[int]
    part: Part | None = None

    def words(self) -> list[int]:
        """As whole numbers, to be sent."""
        accepted = [_ABANDONED] if self.accepted is None else [len(self.accepted), *self.accepted]
        part = [] if self.part is None else self.part.words()
        return [self.number, *accepted, self.shared, len(self.tail), *self.tail, *part]

    @classmethod
    def of_words(cls, words: Sequence[int]) -> Instruction:
        """What :meth:`words` gave."""
        number, count = words[:2]
        at = 2 + max(count, 0)
        accepted = None if count == _ABANDONED else words[2:at]
        shared, length = words[at : at + 2]
        at += 2
        rest = words[at + length :]
        return cls(number, accepted, shared, words[at : at + length], Part.of_words(rest) if rest else None)


def words_of(number: int, choices: Choices, width: int) -> list[int]:
    """The answer to a step: what was chosen at each row, and what was likely there."""
    likely: list[int] = []
    if width:
        # A token id and the bits of its logit in one word each.
        bits = np.asarray(choices.logits, dtype=np.float32).view(np.uint32).astype(np.int64)
        likely = (np.asarray(choices.likeliest, dtype=np.int64) << 32 | bits).ravel().tolist()
    return [number, len(choices.tokens), *choices.tokens, *likely]


def choices_of(words: Sequence[int]) -> Choices:
    """What :func:`words_of` was given; the first word is the step's number."""
    rows = words[1]
    tokens, likely = list(words[2 : 2 + rows]), np.asarray(words[2 + rows :], dtype=np.int64)
    if not len(likely):
        return Choices(tokens, [], [])
    likely = likely.reshape(rows, -1)
    logits = (likely & 0xFFFFFFFF).astype(np.uint32).view(np.float32)
    return Choices(tokens, (likely >> 32).tolist(), logits.tolist())
