"""The benchmark from a loaded model to its result: prepares suites, warms up, runs and compares methods."""

from __future__ import annotations

import gc
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import rich.progress
from rich.console import Console

from decoding import SamplingConfig
from decoding.parallel import RankLostError
from lade_chat.bench.measure import count, differences, is_refusal, measure, prepare
from lade_chat.bench.methods.all_methods import ENGINES, Method, Setup, make
from lade_chat.bench.plan import Plan
from lade_chat.bench.results.measurements import MethodRun, ReplyDifference, SuiteTasks
from lade_chat.bench.results.summary import Overall, Row, by_benchmark, overall, row_line, summarise
from lade_chat.engine.comparison.ties import tie_of
from lade_chat.engine.sampling import sampling_config, sampling_in_force
from lade_chat.errors import PromptError, check_window, summary
from lade_chat.loading.model_loader import LoadedModel, find_model
from lade_chat.loading.quiet import quiet
from lade_chat.presentation.methods import FIXED
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import Sampling

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class BrokenOff:
    """A benchmark that ended early: the number of replies that count, and the number planned.

    ``lost`` is the error if another rank's process ended it, rather than Ctrl+C.
    """

    replies: int
    total: int
    lost: RankLostError | None = None


@dataclass(frozen=True)
class Result:
    """The measurements and what they were taken with.

    ``sampling`` holds the first of the ``seeds``; it is None for greedy decoding, whose only seed is None. ``left_out``
    maps methods that do not support this model to the reason; ``not_compared`` are those that sample in their own way.
    """

    model: LoadedModel
    plan: Plan
    sampling: Sampling | None
    seeds: tuple[int | None, ...]
    suites: list[SuiteTasks]
    runs: list[MethodRun]
    rows: list[Row]
    overall: list[Overall]
    benchmarks: dict[str, list[Overall]]
    differences: list[ReplyDifference]
    left_out: dict[str, str]
    not_compared: tuple[str, ...]
    broken_off: BrokenOff | None = None


def benchmark(loaded: LoadedModel, plan: Plan, progress: Progress, *, assistant: LoadedModel | None = None) -> Result:
    """Run the benchmark; ``assistant`` is the draft model for ``hf-assisted``.

    Raises PromptError if a prompt or a window does not fit the model; decoders' errors pass, RankLostError if nothing
    was measured yet.
    """
    for window_size, ngram_size, _ in plan.fixed_sizes if FIXED in plan.methods else ():
        check_window(window_size, ngram_size, loaded.info.context_window)
    sampling, seeds = _sampling(plan, loaded)
    setup = Setup(
        loaded.model,
        loaded.eos_token_ids,
        plan.fixed_sizes,
        loaded.tokenizer,
        assistant,
        compiled=loaded.info.compiled,
        sampling=sampling,
        workers=loaded.workers,
        gguf=find_model(plan.model, lambda *_: None) if ENGINES.keys() & plan.methods else None,
        step_cost=plan.step_cost,
    )
    with quiet():
        methods = make(plan.methods, setup)
        suites = _prepared(plan, loaded, methods[0], seeds, progress)
        methods, left_out = _warmed_up(methods, suites[0])
        gc.collect()
        runs, broken_off = _measured(suites, methods, plan, progress, left_out)
        if not runs:
            raise PromptError("Every reply ends with its first token: measure without --decoding-only.")
        methods = [method for method in methods if method.name not in left_out]
        suites = [suite for suite in suites if any(run.suite == suite.name for run in runs)]
        not_compared = tuple(method.name for method in methods if method.own_draws and seeds != (None,))
        rows = summarise(runs, suites, not_compared)
        compared = [run for run in runs if run.method not in not_compared]
        is_whole = broken_off is None or broken_off.lost is None  # a rank may have had a part of the model
        found = differences(compared, suites, tie_of(loaded.model, sampling) if is_whole else lambda *_: None)
    return Result(
        loaded,
        plan,
        sampling_in_force(sampling),
        seeds,
        suites,
        runs,
        rows,
        overall(runs, rows),
        by_benchmark(runs, rows, suites),
        found,
        left_out,
        not_compared,
        broken_off,
    )


def _measured(
    suites: Sequence[SuiteTasks], methods: Sequence[Method], plan: Plan, progress: Progress, left_out: dict[str, str]
) -> tuple[list[MethodRun], BrokenOff | None]:
    """Return all runs; after Ctrl+C or the loss of a rank, those of the prompts that every method has answered.

    Methods that refuse a prompt are added to ``left_out``, without their runs. Raises KeyboardInterrupt or
    RankLostError if none is left.
    """
    runs: list[MethodRun] = []
    total = count(suites, methods, plan.repeats)
    by_name = {suite.name: suite for suite in suites}
    order = [(method.name, tables) for method in methods for tables in method.entries]

    def kept(some: Sequence[MethodRun]) -> list[MethodRun]:
        return [run for run in some if run.method not in left_out]

    try:
        measured = measure(suites, methods, plan.repeats, left_out, decoding_only=plan.decoding_only)
        for (name, repeat), of_suite in itertools.groupby(measured, key=lambda run: (run.suite, run.repeat)):
            begun = len(runs)
            for run in of_suite:
                runs.append(run)
                progress.step(f"{run.suite}: {run.method}", len(runs), total)
            in_order = sorted(kept(runs[begun:]), key=lambda run: order.index((run.method, run.tables)))
            rows = summarise(in_order, [by_name[name]])
            progress.result(row_line(rows, repeat, plan.repeats, timed=plan.step_cost is None))
    except (KeyboardInterrupt, RankLostError) as cause:
        runs, entries = kept(runs), sum(name not in left_out for name, _ in order)
        whole = len(runs) - len(runs) % entries
        if not whole:
            raise
        return runs[:whole], BrokenOff(whole, total, cause if isinstance(cause, RankLostError) else None)
    return kept(runs), None


def _sampling(plan: Plan, loaded: LoadedModel) -> tuple[SamplingConfig | None, tuple[int | None, ...]]:
    """Return the sampling and its seeds."""
    sampling = sampling_config(plan.options.sampling, loaded.model)
    if sampling is None or sampling.is_greedy:
        return sampling, (None,)
    seeds = plan.seeds or (sampling.seed,)
    return replace(sampling, seed=seeds[0]), seeds


def _prepared(
    plan: Plan, loaded: LoadedModel, plain: Method, seeds: Sequence[int | None], progress: Progress
) -> list[SuiteTasks]:
    total = len(seeds) * sum(len(question.turns) for suite in plan.suites for question in suite.questions)
    done = itertools.count(1)

    def answered(suite: str) -> None:
        progress.step(f"{suite}: answers to compare with", next(done), total)

    return [prepare(suite, loaded, plan, plain.open, seeds, answered) for suite in plan.suites]


def _warmed_up(methods: Sequence[Method], suite: SuiteTasks) -> tuple[list[Method], dict[str, str]]:
    """Run each method once; return those that support this model, and the others' reasons.

    The first run pays for cold caches, compilation and the cost measurement, so it must not be timed.
    """
    # The longest reply, since one that ends at once would not reach the first step.
    task, able, left_out = max(suite.tasks, key=lambda task: len(task.reference)), [], {}
    for method in methods:
        try:
            method.open(task.seed)(task.ids, min(WARM_UP_TOKENS, task.max_new_tokens))
        except Exception as error:
            if not is_refusal(method, error):
                raise
            left_out[method.name] = summary(error)
        else:
            able.append(method)
    return able, left_out


MIN_LINE_SECONDS = 10.0
"""The least time between two progress lines in a log."""


class Progress:
    """A bar on a terminal, drawn between two replies: a drawing thread would disturb one; elsewhere lines of a log."""

    def __init__(self, bar: rich.progress.Progress | None) -> None:
        self._bar = bar
        self._last_line = 0.0

    def step(self, what: str, done: int, total: int) -> None:
        if self._bar is not None:
            (task,) = self._bar.task_ids
            self._bar.update(task, description=printable(what), completed=done, total=total, refresh=True)
        elif time.monotonic() - self._last_line >= MIN_LINE_SECONDS:
            self.result(f"{done}/{total} · {what}")

    def result(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)
            return
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()
        self._last_line = time.monotonic()


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Yield the progress that suits stderr; a bar is erased at the end."""
    if not sys.stderr.isatty():
        yield Progress(None)
        return
    text = rich.progress.TextColumn("{task.description}", markup=False)
    columns = text, rich.progress.BarColumn(), rich.progress.MofNCompleteColumn(), rich.progress.TimeRemainingColumn()
    with rich.progress.Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        bar.add_task("", total=None)
        yield Progress(bar)
