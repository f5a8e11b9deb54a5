"""A benchmark's result as a picture: speed-ups by suite, and the paper's scaling figure after a sweep."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.errors import LadeChatError, UsageError, not_installed_message
from lade_chat.paths import check_writable, unwritable

if TYPE_CHECKING:
    from lade_chat.bench.benchmark import Result
    from lade_chat.bench.results.summary import Overall, Row

FORMATS = (".png", ".svg", ".pdf")
_ALL = "all (geometric mean)"


def check_plot(path: Path) -> None:
    """Raise LadeChatError if no plot can be written there, UsageError for its suffix; called before measuring."""
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"A plot is written as {', '.join(FORMATS)}, not as {path.name}.")
    check_writable(path)
    if find_spec("matplotlib") is None:
        raise LadeChatError(not_installed_message("--plot", "matplotlib"))


def draw(result: Result, path: Path) -> None:
    """Draw the plot to a file. Raises LadeChatError if it cannot be written."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a suite's or a model's name may have dollar signs
        figure = _figure(result)
        try:
            figure.savefig(path, dpi=150)
        except OSError as error:
            raise LadeChatError(unwritable(path, error)) from None


def _figure(result: Result) -> Any:
    from matplotlib.figure import Figure

    panels = 2 if result.sweep else 1
    width = 2 + max(6.0, 1.6 * (len(result.suites) + 1))
    figure: Any = Figure(figsize=(width, 4.5 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    _speedups(axes[0], result)
    if result.sweep:
        _scaling(axes[1], result)
    info = result.model.info
    figure.suptitle(f"{info.name} · {info.device} · {info.dtype}")
    return figure


def _speedups(axes: Any, result: Result) -> None:
    """Grouped bars, a group a suite, with the range over the repeats."""
    entries = [(each.method, each.tables) for each in result.overall]
    groups = [suite.name for suite in result.suites]
    labels = [f"{suite.name}\n{suite.nats_per_token:.2f} nats/token" for suite in result.suites]
    width = 0.8 / len(entries)
    for number, entry in enumerate(entries):
        rows: list[Row | Overall] = [row for row in result.rows if (row.method, row.tables) == entry]
        rows += [each for each in result.overall if (each.method, each.tables) == entry]
        middles = [row.speedup.median for row in rows]
        ranges = [
            [row.speedup.median - row.speedup.low for row in rows],
            [row.speedup.high - row.speedup.median for row in rows],
        ]
        places = [group - 0.4 + width * (number + 0.5) for group in range(len(rows))]
        name = ", ".join(part for part in entry if part)
        axes.bar(places, middles, width, yerr=ranges, label=name, error_kw={"elinewidth": 0.8})
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(groups) + 1), [*labels, _ALL])
    axes.set_ylabel("speed-up over plain decoding")
    axes.legend(fontsize="small", ncols=2)


def _scaling(axes: Any, result: Result) -> None:
    """Tokens per step against tokens per forward pass (Fu et al. 2024), a line a suite and n-gram size."""
    marks = dict(zip(sorted({point.ngram_size for point in result.sweep}), "os^vD", strict=False))
    for index, suite in enumerate(result.suites):
        for ngram_size, mark in marks.items():
            points = sorted(
                (point.tokens_per_forward, point.tokens_per_step)
                for point in result.sweep
                if (point.suite, point.ngram_size) == (suite.name, ngram_size)
            )
            forward, step = zip(*points, strict=True) if points else ((), ())
            style = "-" if mark == "o" else "--"
            label = f"{suite.name}, N = {ngram_size}"
            axes.plot(forward, step, style, marker=mark, markersize=4, color=f"C{index}", label=label)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("tokens per forward pass (T)")
    axes.set_ylabel("tokens per step (S)")
    axes.legend(fontsize="small", ncols=2)
