"""Compares every reply with plain decoding's, and tells of those that differ how near the tie was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lade_chat.bench.results.values import Difference, Run, SuiteTasks, Task, seed_of_draws
from lade_chat.engine.comparison.ties import TieOf, first_difference


def differences(runs: Iterable[Run], suites: Sequence[SuiteTasks], tie: TieOf) -> list[Difference]:
    """The replies that are not the reference, each kind of them once; ``tie`` as of :func:`tie_of`."""
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
            gap, ulps = tie(
                [*task.ids, *task.reference[:position]], seed_of_draws(task.seed, task.ids), expected, other
            )
        told.append(Difference(method, tables, suite, prompt, position, expected, other, gap, ulps, times))
    return told
