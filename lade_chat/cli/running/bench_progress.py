"""Progress of a benchmark on stderr: a bar on a terminal, else lines, and each result as it comes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lade_chat.presentation.sanitize import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

MIN_LINE_SECONDS = 10.0
"""The least time between two progress lines in a log."""


class BarProgress:
    """A bar drawn between two replies: a drawing thread would disturb the timing of one of them."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("", total=None)

    def step(self, what: str, done: int, total: int) -> None:
        self._bar.update(self._task, description=printable(what), completed=done, total=total, refresh=True)

    def result(self, line: str) -> None:
        self._bar.console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


class LineProgress:
    """Progress as lines of a log."""

    def __init__(self) -> None:
        self._last_line = 0.0

    def step(self, what: str, done: int, total: int) -> None:
        if time.monotonic() - self._last_line >= MIN_LINE_SECONDS:
            self.result(f"{done}/{total} · {what}")

    def result(self, line: str) -> None:
        sys.stderr.write(f"{printable(line)}\n")
        sys.stderr.flush()
        self._last_line = time.monotonic()


@contextmanager
def bench_progress() -> Iterator[BarProgress | LineProgress]:
    """Yield the progress that suits stderr; a bar is erased at the end."""
    if not sys.stderr.isatty():
        yield LineProgress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False) as bar:
        yield BarProgress(bar)
