"""Runs methods against one another: every prompt by each in turn, so that what disturbs one disturbs all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from lade_chat.bench.methods.registry import Method, Replier
from lade_chat.bench.results.values import Run, SuiteTasks, TablesKept


def measure(suites: Sequence[SuiteTasks], methods: Sequence[Method], repeats: int) -> Iterator[Run]:
    """Every task by every method, ``repeats`` times over; a method that learns takes part warm and cold.

    Warm tables have seen the suite's earlier prompts in this repeat; cold ones are fresh for every prompt. Every
    repeat and every seed starts from fresh tables, so no tables see a prompt twice. Who goes first changes from prompt
    to prompt and from repeat to repeat.
    """
    entries = [(method, tables) for method in methods for tables in method.entries]
    for repeat in range(repeats):
        for suite in suites:
            for seed, tasks in groupby(enumerate(suite.tasks), key=lambda task: task[1].seed):
                kept: dict[str, Replier] = {method.name: method.open(seed) for method in methods if method.learns}
                for prompt, task in tasks:
                    for method, tables in _rotated(entries, prompt + repeat):
                        reply = kept[method.name] if tables == "warm" else method.open(seed)
                        answer = reply(task.ids, task.max_new_tokens)
                        yield Run(method.name, tables, suite.name, prompt, repeat, answer)


def count(suites: Sequence[SuiteTasks], methods: Sequence[Method], repeats: int) -> int:
    """How many runs :func:`measure` yields."""
    return repeats * sum(len(suite.tasks) for suite in suites) * sum(len(method.entries) for method in methods)


def _rotated(
    entries: Sequence[tuple[Method, TablesKept | None]], by: int
) -> Sequence[tuple[Method, TablesKept | None]]:
    first = by % len(entries)
    return [*entries[first:], *entries[:first]]
