"""Runs all methods on every prompt, one method after another, and compares their replies.

Interleaving the methods makes disturbances of the machine affect all of them alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from lade_chat.bench.methods.method import Method, Replier
from lade_chat.bench.results.values import Difference, Run, SuiteTasks, TablesKept, Task, seed_of_draws
from lade_chat.engine.comparison.ties import TieOf, first_difference
from lade_chat.errors import is_out_of_memory, summary


def measure(
    suites: Sequence[SuiteTasks], methods: Sequence[Method], repeats: int, left_out: dict[str, str]
) -> Iterator[Run]:
    """Run every task by every method, ``repeats`` times; a method that learns runs warm and cold.

    Warm tables have seen the suite's earlier prompts in this repeat; cold ones are fresh for every prompt. Every
    repeat and every seed starts from fresh tables, so no tables see a prompt twice. The order of the methods rotates
    from prompt to prompt and from repeat to repeat. A method that refuses a prompt is added to ``left_out`` with the
    reason, and runs no more.
    """
    entries = [(method, tables) for method in methods for tables in method.entries]
    for repeat in range(repeats):
        for suite in suites:
            for seed, tasks in groupby(enumerate(suite.tasks), key=lambda task: task[1].seed):
                kept: dict[str, Replier] = {method.name: method.open(seed) for method in methods if method.learns}
                for prompt, task in tasks:
                    for method, tables in _rotated(entries, prompt + repeat):
                        if method.name in left_out:
                            continue
                        try:
                            reply = kept[method.name] if tables == "warm" else method.open(seed)
                            answer = reply(task.ids, task.max_new_tokens)
                        except Exception as error:
                            if not is_refusal(method, error):
                                raise
                            where = f"{suite.name} {prompt % suite.prompts + 1}"
                            left_out[method.name] = f"{where}: {summary(error)}"
                            continue
                        yield Run(method.name, tables, suite.name, prompt, repeat, answer)


def is_refusal(method: Method, error: Exception) -> bool:
    """Return True if an error leaves out the method: any model may be given, and generate fails in many ways."""
    return method.may_refuse and not is_out_of_memory(error)


def count(suites: Sequence[SuiteTasks], methods: Sequence[Method], repeats: int) -> int:
    """Count the runs that :func:`measure` yields."""
    return repeats * sum(len(suite.tasks) for suite in suites) * sum(len(method.entries) for method in methods)


def _rotated(
    entries: Sequence[tuple[Method, TablesKept | None]], by: int
) -> Sequence[tuple[Method, TablesKept | None]]:
    first = by % len(entries)
    return [*entries[first:], *entries[:first]]


def differences(runs: Iterable[Run], suites: Sequence[SuiteTasks], tie: TieOf) -> list[Difference]:
    """Return the distinct replies that differ from the reference; ``tie`` comes from :func:`tie_of`."""
    tasks: Mapping[str, Sequence[Task]] = {suite.name: suite.tasks for suite in suites}
    counted: Counter[tuple[Any, ...]] = Counter()
    for run in runs:
        reference, reply = tasks[run.suite][run.prompt].reference, run.reply.ids
        position = first_difference(reference, reply)
        if position is not None:
            expected, other = (next(iter(side[position : position + 1]), None) for side in (reference, reply))
            counted[run.method, run.tables, run.suite, run.prompt, position, expected, other] += 1
    found_differences = []
    for (method, tables, suite, prompt, position, expected, other), times in counted.items():
        gap = ulps = None
        if expected is not None and other is not None:
            task = tasks[suite][prompt]
            text = [*task.ids, *task.reference[:position]]
            gap, ulps = tie(text, seed_of_draws(task.seed, task.ids), expected, other) or (None, None)
        found_differences.append(Difference(method, tables, suite, prompt, position, expected, other, gap, ulps, times))
    return found_differences
