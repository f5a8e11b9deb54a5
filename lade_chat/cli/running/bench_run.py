"""A benchmark's run on the command line: models loaded, methods measured with a bar or lines, the result printed."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import msgspec
import typer

from lade_chat.bench.plan import Plan
from lade_chat.cli.running.ending import INTERRUPTED, TERMINATED
from lade_chat.cli.running.engine_run import load_model, on_all_ranks, start_ranks
from lade_chat.cli.running.output import print_json
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError, fitting
from lade_chat.loading.checkpoint import check_files
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.events import Loading

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from lade_chat.loading.model_loader import LoadedModel
    from lade_chat.suites.public import Benchmark

_PIPE_WIDTH = 100


def run_bench(plan: Plan, *, as_json: bool) -> int:
    """Load the models, measure, print the result and return the exit code: 130 after Ctrl+C, 143 after SIGTERM."""
    require_output()
    out = sys.stdout
    with redirect_stdout(sys.stderr):  # libraries print
        with PassingLine(sys.stderr) as line:
            line.show("starting …")
            loaded, assistant = _loaded(plan, line)
            from lade_chat.bench.benchmark import benchmark

        with _sigterm_as_ctrl_c() as terminated, bench_progress() as progress, fitting("The KV cache"):
            result = benchmark(loaded, plan, progress, assistant=assistant)
        from lade_chat.bench.results import report

        if as_json:
            print_json(report.as_json(result), out)
        else:
            from rich.console import Console

            Console(file=out, width=None if out.isatty() else _PIPE_WIDTH, highlight=False).print(report.tables(result))
    if result.broken_off is None:
        return 0
    return TERMINATED if terminated else INTERRUPTED


def download_prompts(benchmark: Benchmark) -> list[Path]:
    """Return a public benchmark's files, downloaded where the Hub's cache lacks them. Raises LadeChatError."""
    from lade_chat.loading.hub import fetch_data

    with PassingLine(sys.stderr) as line:
        return fetch_data(
            benchmark.dataset, benchmark.files, lambda *progress: line.show_event(Loading("download", *progress))
        )


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Break off on SIGTERM as on Ctrl+C, so that what was measured is printed; the list holds what came."""
    came: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    except KeyboardInterrupt:
        if not came:
            raise
        raise typer.Exit(TERMINATED) from None  # nothing was measured yet
    finally:
        signal.signal(signal.SIGTERM, before)


def _loaded(plan: Plan, line: PassingLine) -> tuple[LoadedModel, LoadedModel | None]:
    """Load the model on all ranks, and the draft model, if any, with their notices on stderr."""
    if plan.model.processes > 1 and plan.random_weights is not None:
        raise LadeChatError("--random-weights needs a single process.")
    # Steps are measured under the benchmark's own conditions.
    wanted = [msgspec.structs.replace(plan.model, step_cost=False)]
    if plan.assistant_model is not None:
        wanted.append(msgspec.structs.replace(wanted[0], path=plan.assistant_model))
        check_files(wanted[1])
    ranks = start_ranks(plan.model)
    loaded, *others = [load_model(options, line) for options in wanted]
    if plan.random_weights is not None:
        from lade_chat.bench.measure import with_random_weights

        line.show("drawing random weights …")
        loaded = with_random_weights(loaded, plan.random_weights)
    elif plan.model.processes == 1 and not plan.model.quantize and not loaded.info.tensor_types:
        from lade_chat.loading.weights import WeightCopies

        copies = WeightCopies(loaded.model)  # in huge pages, where a chat has them after its first reply
        copies.begin()
        copies.settle(wait=True)
    return on_all_ranks(loaded, plan.model, ranks, line), next(iter(others), None)


MIN_LINE_SECONDS = 10.0
"""The least time between two progress lines in a log."""


class BenchProgress:
    """A bar on a terminal, drawn between two replies: a drawing thread would disturb one; elsewhere lines of a log."""

    def __init__(self, bar: Bar | None) -> None:
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
def bench_progress() -> Iterator[BenchProgress]:
    """Yield the progress that suits stderr; a bar is erased at the end."""
    if not sys.stderr.isatty():
        yield BenchProgress(None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        bar.add_task("", total=None)
        yield BenchProgress(bar)
