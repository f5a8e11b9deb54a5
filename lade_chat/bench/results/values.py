"""What a benchmark deals in: questions, tasks, replies and runs, all plain values."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

TablesKept: TypeAlias = Literal["warm", "cold"]
"""Whether the tables have seen the suite's earlier prompts, or are fresh for every prompt."""


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt as every method gets it, and plain decoding's answer to it.

    Attributes:
        ids: the prompt's token ids.
        max_new_tokens: the most tokens of the reply.
        reference: the ids of plain decoding's reply.
        seed: one of the benchmark's; None where the likeliest token is always taken.
    """

    ids: tuple[int, ...]
    max_new_tokens: int
    reference: tuple[int, ...]
    seed: int | None = None


def seed_of_draws(seed: int | None, ids: Sequence[int]) -> int | None:
    """What a prompt's reply is drawn with: the benchmark's seed and the prompt make it.

    With the same draws for every prompt, a model that is sure of nothing would say much the same after all of them,
    and tables that have seen one reply would know the next.
    """
    # 32 bits, since torch's generators for the CPU look at no more.
    return None if seed is None else zlib.crc32(array("Q", [seed % 2**64, *ids]).tobytes())


def shared_name(method: str, ranks: int) -> str:
    """Return the name of a method whose steps are shared among ``ranks`` processes."""
    return f"{method} ×{ranks}"


@dataclass(frozen=True, slots=True)
class SuiteTasks:
    """A suite made ready for one model.

    Attributes:
        name: the suite's name.
        tasks: one for every turn of every question; with several seeds all of them for the first, then for the next.
        nats_per_token: the model's mean negative log-likelihood of plain decoding's replies.
    """

    name: str
    tasks: tuple[Task, ...]
    nats_per_token: float

    @property
    def prompts(self) -> int:
        """How many tasks there are for each seed."""
        return len(self.tasks) // len({task.seed for task in self.tasks})


@dataclass(frozen=True, slots=True)
class StepFigures:
    """What the steps of one reply add up to, that of the prompt left out; only this package's decoders tell it.

    Attributes:
        steps: forward passes.
        tokens: what they emitted.
        verified: how many of these were guessed and verified.
        forward_tokens: what the forward passes held.
        seconds: what the steps took, bookkeeping included.
        forward_seconds: the model's share of it.
        median_seconds: the median step's.
        table_entries: n-grams and other entries that the tables hold after the reply.
        table_bytes: about the memory that they take.
        share_tokens: what the largest part of each step held, where steps are shared among processes.
        exchanged_bytes: what passed between these.
    """

    steps: int = 0
    tokens: int = 0
    verified: int = 0
    forward_tokens: int = 0
    seconds: float = 0.0
    forward_seconds: float = 0.0
    median_seconds: float = 0.0
    table_entries: int = 0
    table_bytes: int = 0
    share_tokens: int = 0
    exchanged_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply: its ids, the wall-clock seconds from the prompt's ids to the last token, and its steps if told."""

    ids: tuple[int, ...]
    seconds: float
    figures: StepFigures | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A reply and where it belongs.

    ``tables`` is None for a method that learns nothing from text; ``prompt`` is the index of the suite's task.
    """

    method: str
    tables: TablesKept | None
    suite: str
    prompt: int
    repeat: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class Difference:
    """A reply that is not plain decoding's, and how near the tie was where they part.

    Attributes:
        position: the index of the first token that differs.
        expected: plain decoding's token there; None if its reply had ended.
        found: the method's.
        gap: by how much the logit of ``expected`` exceeds that of ``found`` after the common text, read in one plain
            forward pass; None if one of the replies had ended.
        ulps: the gap in units of the last place of the larger logit, in the model's number format.
        times: in how many repeats the reply was this one.
    """

    method: str
    tables: TablesKept | None
    suite: str
    prompt: int
    position: int
    expected: int | None
    found: int | None
    gap: float | None
    ulps: float | None
    times: int


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """What one setting of the sizes reached over a suite: S, tokens per step, at T, tokens per forward pass."""

    suite: str
    window_size: int
    ngram_size: int
    guess_set_size: int
    tokens_per_step: float
    tokens_per_forward: float
