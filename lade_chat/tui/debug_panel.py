"""The figures behind a reply: its speed-up over plain decoding, what a step costs, and how far guesses carried."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.widgets import Static

from lade_chat.protocol import Statistics

HISTOGRAM_ROWS = 5
HISTOGRAM_WIDTH = 12


class DebugPanel(Container):
    """Beside the transcript where there is room, below it where there is not."""

    def compose(self) -> ComposeResult:
        yield Static(markup=False, id="debug-figures")
        yield Static(markup=False, id="debug-runs")

    def on_mount(self) -> None:
        self.show(None, measured=True)

    def show(self, statistics: Statistics | None, *, measured: bool) -> None:
        """This reply's figures; ``measured`` is False for a reply begun before anyone wanted them."""
        s = statistics or Statistics()
        self.query_one("#debug-figures", Static).update(_figures(s, measured=measured))
        self.query_one("#debug-runs", Static).update(_runs(s.accepted_runs))


def _figures(s: Statistics, *, measured: bool) -> Content:
    if not measured:
        speedup = plain = "next reply"
    else:
        speedup = "measuring…" if s.speedup is None else f"{s.speedup:.2f}x"
        plain = "measuring…" if s.plain_step_seconds is None else f"{1000 * s.plain_step_seconds:.1f} ms"
    rows = [
        ("speed-up over plain", speedup),
        ("tokens per step", f"{s.tokens_per_step:.2f}"),
        ("a step takes", f"{s.step_milliseconds:.1f} ms"),
        ("a plain step takes", plain),
        ("tokens per forward", str(s.forward_tokens)),
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
