"""Values of a benchmark: tasks, replies, runs and differences."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

TablesKept: TypeAlias = Literal["warm", "cold"]
"""Warm tables have seen the suite's earlier prompts; cold ones are fresh for every prompt."""


@dataclass(frozen=True, slots=True)
class Task:
    """One prompt, the same for every method, and the ids of plain decoding's reply; without a seed it is greedy."""

    ids: tuple[int, ...]
    max_new_tokens: int
    reference: tuple[int, ...]
    seed: int | None = None


def seed_of_draws(seed: int | None, ids: Sequence[int]) -> int | None:
    """Derive the seed of a prompt's reply from the benchmark's seed and the prompt.

    If all prompts shared their draws, an uncertain model would give similar replies to all of them, and draft tables
    that have learnt one reply would predict the next.
    """
    # 32 bits: torch's CPU generator ignores the rest.
    return None if seed is None else zlib.crc32(array("Q", [seed % 2**64, *ids]).tobytes())


@dataclass(frozen=True, slots=True)
class SuiteTasks:
    """A suite prepared for one model.

    Attributes:
        tasks: one for every turn of every question, repeated for each seed (seed by seed).
        nats_per_token: the model's mean negative log-likelihood of plain decoding's replies.
        benchmark: the public benchmark that it is a category of.
    """

    name: str
    tasks: tuple[Task, ...]
    nats_per_token: float
    benchmark: str | None = None

    @property
    def prompts(self) -> int:
        """The number of tasks for each seed."""
        return len(self.tasks) // len({task.seed for task in self.tasks})


@dataclass(frozen=True, slots=True)
class StepTotals:
    """The totals of one reply's steps without the prefill; only this package's decoders report them.

    ``seconds`` include bookkeeping, which ``forward_seconds`` do not; ``table_entries`` are those after the reply.
    """

    steps: int = 0
    tokens: int = 0
    verified: int = 0
    forward_tokens: int = 0
    seconds: float = 0.0
    forward_seconds: float = 0.0
    median_seconds: float = 0.0
    table_entries: int = 0


@dataclass(frozen=True, slots=True)
class TimedReply:
    """One reply: its ids, the wall-clock seconds from the prompt's ids to the last token, and its steps if known.

    ``decoding_tokens`` are those after the prefill's, and ``decoding_seconds`` the time that they took.
    """

    ids: tuple[int, ...]
    seconds: float
    totals: StepTotals | None = None
    decoding_tokens: int = 0
    decoding_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class MethodRun:
    """A reply with its method, suite, prompt and repeat.

    ``tables`` is None for a method that learns nothing from text; ``prompt`` is the index of the suite's task. With
    ``decoding_only`` the prefill and the first token do not count.
    """

    method: str
    tables: TablesKept | None
    suite: str
    prompt: int
    repeat: int
    reply: TimedReply
    decoding_only: bool = False

    @property
    def tokens(self) -> int:
        """The number of tokens that count."""
        return self.reply.decoding_tokens if self.decoding_only else len(self.reply.ids)

    @property
    def seconds(self) -> float:
        """The time that counts."""
        return self.reply.decoding_seconds if self.decoding_only else self.reply.seconds


@dataclass(frozen=True, slots=True)
class ReplyDifference:
    """A reply that differs from plain decoding's, and how near the tie was.

    Attributes:
        position: the index of the first token that differs.
        expected: plain decoding's token there; None if its reply had ended.
        found: the method's.
        gap: by how much the logit of ``expected`` exceeds that of ``found`` after the common text, read in one plain
            forward pass; None if one of the replies had ended, or a filter such as top-k leaves out one of the two.
        ulps: the gap in units of the last place of the larger logit, in the model's number format.
        times: the number of repeats with this reply.
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
