"""The figures behind a reply: its speed-up over plain decoding, what a step costs, and how far guesses carried."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from lade_chat.figures import window
from lade_chat.protocol import Statistics

HISTOGRAM_ROWS = 5
HISTOGRAM_WIDTH = 12


class DebugPanel(Container):
    """Beside the transcript where there is room, below it where there is not."""

    def compose(self) -> ComposeResult:
        yield Static(markup=False, id="debug-figures")
        yield Static(markup=False, id="debug-runs")

    def on_mount(self) -> None:
        self.show(None, measuring=False)

    def show(self, statistics: Statistics | None, *, measuring: bool) -> None:
        """The last reply's figures; what it has not measured may still come while it is ``measuring``."""
        s = statistics or Statistics()
        self.query_one("#debug-figures", Static).update(_figures(s, measuring=measuring))
        self.query_one("#debug-runs", Static).update(_runs(s.accepted_runs))


def _figures(s: Statistics, *, measuring: bool) -> Content:
    unknown = "measuring…" if measuring else "not measured"
    speedup = unknown if s.speedup is None else f"{s.speedup:.2f}x"
    plain = unknown if s.plain_step_seconds is None else f"{1000 * s.plain_step_seconds:.1f} ms"
    rows = [
        ("speed-up over plain", speedup),
        ("tokens per step", f"{s.tokens_per_step:.2f}"),
        ("a step takes", f"{s.step_milliseconds:.1f} ms"),
        ("a plain step takes", plain),
        ("tokens per forward", str(s.forward_tokens)),
        ("candidates", str(s.candidates)),
        ("window (W × N)", window(s)),
        ("n-grams in the pool", str(s.pool_size)),
    ]
    lines = [Content.assemble((f"{name:<21}", "$text-muted"), value) for name, value in rows]
    return Content("\n").join(lines)


def _runs(runs: tuple[int, ...]) -> Content:
    """How many steps accepted how many guesses; the last row gathers the longest runs."""
    counts = [*runs[: HISTOGRAM_ROWS - 1], sum(runs[HISTOGRAM_ROWS - 1 :])]
    counts += [0] * (HISTOGRAM_ROWS - len(counts))
    most = max(*counts, 1)
    lines = [Content.styled("guesses kept · steps", "$text-muted")]
    for length, count in enumerate(counts):
        more = "+" if length == HISTOGRAM_ROWS - 1 and len(runs) > HISTOGRAM_ROWS else " "
        bar = "█" * round(HISTOGRAM_WIDTH * count / most)
        lines.append(Content.assemble(f"{length}{more} ", (bar, "$success"), f" {count}"))
    return Content("\n").join(lines)
