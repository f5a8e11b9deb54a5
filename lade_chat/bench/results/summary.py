"""Summaries of runs: medians over the repeats with their range; ratios are always within a repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median
from typing import TypeAlias

from lade_chat.bench.results.measurements import MethodRun, SuiteTasks, TablesKept
from lade_chat.presentation.methods import PLAIN
from lade_chat.presentation.status_parts import SEPARATOR

SummaryEntry: TypeAlias = tuple[str, TablesKept | None]
"""A line of the result: a method's name, and "warm" or "cold" if it has draft tables."""
Rates: TypeAlias = Mapping[tuple[str, SummaryEntry], Mapping[int, float]]
"""Tokens per second of each repeat, by suite and entry."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median, minimum and maximum of a metric over the repeats."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])


@dataclass(frozen=True, slots=True)
class StepSummary:
    """The totals of an entry's steps over a suite, without the prefills; tokens per step are the paper's S.

    ``bookkeeping_share``: a step's time outside the model over the median plain step's time.
    """

    tokens_per_step: float
    tokens_per_forward: float
    verified_share: float
    bookkeeping_share: float
    table_entries: int


@dataclass(frozen=True, slots=True)
class Row:
    """One entry's metrics over one suite.

    Attributes:
        seconds: for all prompts together, from ids (or the first token) to the last token.
        tokens_per_second: generated tokens over these seconds.
        speedup: tokens per second over plain decoding's in the same repeat. For identical texts that is the
            ratio of the total times; otherwise a reply that ends sooner does not count as speed.
        identical: the number of replies identical to plain decoding's; None for a method that samples in its own way.
        steps: None for a method that hides its steps.
    """

    method: str
    tables: TablesKept | None
    suite: str
    seconds: Spread
    tokens_per_second: Spread
    speedup: Spread
    identical: int | None
    replies: int
    steps: StepSummary | None


@dataclass(frozen=True, slots=True)
class Overall:
    """One entry over several suites: geometric means, without tokens per step if it hides its steps."""

    method: str
    tables: TablesKept | None
    tokens_per_second: Spread
    speedup: Spread
    identical: int | None
    replies: int
    tokens_per_step: float | None


def summarise(runs: Sequence[MethodRun], suites: Sequence[SuiteTasks], not_compared: Collection[str] = ()) -> list[Row]:
    """Return a row for each suite and entry, in the order of the suites and of the first runs.

    ``not_compared`` are methods that sample in their own way, so that their texts are expected to differ.
    """
    rates = _rates_of(runs)
    rows = []
    for suite in suites:
        own = [run for run in runs if run.suite == suite.name]
        plain = [run.reply.totals for run in own if run.method == PLAIN and run.reply.totals is not None]
        plain_step = median([totals.median_seconds for totals in plain if totals.steps] or [0.0])
        for method, tables in dict.fromkeys((run.method, run.tables) for run in runs):
            of_entry = [run for run in own if (run.method, run.tables) == (method, tables)]
            seconds = defaultdict[int, float](float)
            for run in of_entry:
                seconds[run.repeat] += run.seconds
            identical = sum(run.reply.ids == suite.tasks[run.prompt].reference for run in of_entry)
            row = Row(
                method,
                tables,
                suite.name,
                seconds=Spread.of(seconds.values()),
                tokens_per_second=Spread.of(rates[suite.name, (method, tables)].values()),
                speedup=Spread.of(_speedups(rates, suite.name, (method, tables)).values()),
                identical=None if method in not_compared else identical,
                replies=len(of_entry),
                steps=_steps(of_entry, plain_step),
            )
            rows.append(row)
    return rows


def row_line(rows: Sequence[Row], repeat: int, repeats: int, *, timed: bool = True) -> str:
    """Format one repeat of a suite, counted from 0: ``code 1/3 · plain 40.1 tok/s · lookahead warm 1.45x``."""
    parts = [f"{rows[0].suite} {repeat + 1}/{repeats}"]
    for row in rows:
        name = " ".join(filter(None, (row.method, row.tables)))
        rate, speedup = f"{row.tokens_per_second.median:.1f} tok/s", f"{row.speedup.median:.2f}x"
        parts.append(f"{name} {rate if timed and row.method == PLAIN else speedup}")
    return SEPARATOR.join(parts)


def overall(runs: Sequence[MethodRun], rows: Sequence[Row]) -> list[Overall]:
    """Return the geometric means over the suites within each repeat, then their medians over the repeats."""
    rates = _rates_of(runs)
    means = []
    for method, tables in dict.fromkeys((row.method, row.tables) for row in rows):
        own = [row for row in rows if (row.method, row.tables) == (method, tables)]
        speedups = _mean([_speedups(rates, row.suite, (method, tables)) for row in own])
        speeds = _mean([rates[row.suite, (method, tables)] for row in own])
        compared = [row.identical for row in own if row.identical is not None]
        identical = sum(compared) if compared else None
        steps = [row.steps.tokens_per_step for row in own if row.steps is not None]
        replies = sum(row.replies for row in own)
        compression = geometric_mean(steps) if steps else None
        means.append(Overall(method, tables, speeds, speedups, identical, replies, compression))
    return means


def _mean(by_suite: Sequence[Mapping[int, float]]) -> Spread:
    """Return the spread of the repeats' geometric means over suites."""
    return Spread.of(
        geometric_mean(values[repeat] for values in by_suite)
        for repeat in by_suite[0]
        if all(repeat in values for values in by_suite)  # the last may have been broken off
    )


def by_benchmark(
    runs: Sequence[MethodRun], rows: Sequence[Row], suites: Sequence[SuiteTasks]
) -> dict[str, list[Overall]]:
    """Return :func:`overall` for the suites of each public benchmark."""
    names = {suite.name: suite.benchmark for suite in suites}
    benchmarks = dict.fromkeys(filter(None, names.values()))
    return {each: overall(runs, [row for row in rows if names[row.suite] == each]) for each in benchmarks}


def _rates_of(runs: Sequence[MethodRun]) -> Rates:
    totals = defaultdict[tuple[str, SummaryEntry], dict[int, tuple[int, float]]](dict)
    for run in runs:
        repeats = totals[run.suite, (run.method, run.tables)]
        tokens, seconds = repeats.get(run.repeat, (0, 0.0))
        repeats[run.repeat] = tokens + run.tokens, seconds + run.seconds
    return {
        entry: {repeat: tokens / seconds for repeat, (tokens, seconds) in repeats.items()}
        for entry, repeats in totals.items()
    }


def _speedups(rates: Rates, suite: str, entry: SummaryEntry) -> dict[int, float]:
    """Return the speed-up of each repeat."""
    plain = rates[suite, (PLAIN, None)]
    return {repeat: rate / plain[repeat] for repeat, rate in rates[suite, entry].items()}


def _steps(runs: Sequence[MethodRun], plain_step: float) -> StepSummary | None:
    totals = [run.reply.totals for run in runs if run.reply.totals is not None and run.reply.totals.steps]
    if not totals:
        return None
    steps, tokens = sum(each.steps for each in totals), sum(each.tokens for each in totals)
    outside = sum(each.seconds - each.forward_seconds for each in totals) / steps
    return StepSummary(
        tokens_per_step=tokens / steps,
        tokens_per_forward=sum(each.forward_tokens for each in totals) / steps,
        verified_share=sum(each.verified for each in totals) / tokens,
        bookkeeping_share=outside / plain_step if plain_step > 0 else 0.0,
        table_entries=max(each.table_entries for each in totals),
    )
