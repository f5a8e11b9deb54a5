"""Runs and suites of a benchmark, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lade_chat.bench.results.measurements import MethodRun, SuiteTasks, Task, TimedReply


def suite_of(
    *references: Sequence[int],
    name: str = "s",
    prompts: Sequence[Sequence[int]] | None = None,
    seeds: Sequence[int | None] = (None,),
) -> SuiteTasks:
    prompts = prompts or [(100 + index,) for index in range(len(references))]
    tasks = (
        Task(tuple(ids), 8, tuple(reply), seed)
        for seed in seeds
        for ids, reply in zip(prompts, references, strict=True)
    )
    return SuiteTasks(name, tuple(tasks), 0.5)


def run_of(method: str, seconds: float, reply: Sequence[int] = (1, 2), **more: Any) -> MethodRun:
    values: dict[str, Any] = {"tables": None, "suite": "s", "prompt": 0, "repeat": 0, "totals": None} | more
    totals = values.pop("totals")
    return MethodRun(method=method, reply=TimedReply(tuple(reply), seconds, totals), **values)
