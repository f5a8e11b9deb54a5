"""Compares every reply with plain decoding's, and tells of those that differ how near the tie was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from lade_chat.bench.prepare import logits_after
from lade_chat.bench.values import Difference, Run, SuiteTasks, Task

Tie: TypeAlias = tuple[float, float]
"""The gap between two logits, and the same in units of the last place."""


def first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    """The index of the first token that differs; None if the two are identical."""
    for index in range(max(len(left), len(right))):
        if left[index : index + 1] != right[index : index + 1]:
            return index
    return None


def differences(
    runs: Iterable[Run], suites: Sequence[SuiteTasks], tie: Callable[[Sequence[int], int, int], Tie]
) -> list[Difference]:
    """The replies that are not the reference, each kind of them once.

    ``tie`` is given a text and the two tokens that were chosen after it (see :func:`tie_of`).
    """
    tasks: Mapping[str, Sequence[Task]] = {suite.name: suite.tasks for suite in suites}
    counted: Counter[tuple[Any, ...]] = Counter()
    for run in runs:
        reference, found = tasks[run.suite][run.prompt].reference, run.reply.ids
        position = first_difference(reference, found)
        if position is not None:
            expected, other = (next(iter(side[position : position + 1]), None) for side in (reference, found))
            counted[run.method, run.tables, run.suite, run.prompt, position, expected, other] += 1
    told = []
    for (method, tables, suite, prompt, position, expected, other), times in counted.items():
        gap = ulps = None
        if expected is not None and other is not None:
            task = tasks[suite][prompt]
            gap, ulps = tie([*task.ids, *task.reference[:position]], expected, other)
        told.append(Difference(method, tables, suite, prompt, position, expected, other, gap, ulps, times))
    return told


def tie_of(model: Any) -> Callable[[Sequence[int], int, int], Tie]:
    """By how much one token's logit exceeds another's after a text, and that in ulps of the model's number format."""

    def tie(ids: Sequence[int], expected: int, found: int) -> Tie:
        row = logits_after(model, ids)[0]
        first, second = float(row[expected]), float(row[found])
        gap = first - second
        return gap, gap / unit_of_last_place(max(abs(first), abs(second)), row.dtype)

    return tie


def unit_of_last_place(value: float, dtype: torch.dtype) -> float:
    """The distance from a positive number to the next larger one of this format."""
    information = torch.finfo(dtype)
    exponent = math.floor(math.log2(max(value, information.tiny)))
    return float(information.eps * 2.0**exponent)
