"""The debug panel's numbers: a reply's metrics row by row, a histogram, and sparklines of its speed."""

from __future__ import annotations

from collections import deque

import msgspec
from textual.content import Content

from lade_chat.presentation.metrics import speedup_words, window
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import Statistics
from lade_chat.tui.widgets.metric_lines import sparkline

HISTOGRAM_ROWS = 5
HISTOGRAM_WIDTH = 12
HISTORY = 60
"""Length of the sparklines, in batches of tokens."""
SPARK_NAME, SPARK_VALUE = 9, 6
METRICS = (
    "speed-up over plain",
    "tokens/later step",
    "a plain step takes",
    "a step takes",
    "steps that guessed",
    "tokens per forward",
    "candidates",
    "window (W × N)",
    "n-grams in the pool",
    "verified from",
)
SUM = ("is tokens/later step", "times a plain step", "divided by a step")
"""Names of the rows below the speed-up, where they tell what it follows from."""
MUTED = "$foreground-muted"


class SpeedHistory:
    """The speeds of the reply that is shown, and its tokens per step."""

    def __init__(self) -> None:
        self._last: Statistics | None = None
        self._speeds: deque[float] = deque(maxlen=HISTORY)
        self._yields: deque[float] = deque(maxlen=HISTORY)

    def take(self, statistics: Statistics | None) -> None:
        """Add the latest metrics; those of another reply, or None, start over."""
        before, self._last = self._last, statistics
        if statistics is None or (before is not None and statistics.steps < before.steps):
            self._speeds.clear()
            self._yields.clear()
            before = None
        if statistics is None or (before is not None and statistics.steps == before.steps):
            return
        tokens, steps = (before.generated_tokens, before.steps) if before is not None else (0, 0)
        self._speeds.append(statistics.recent_tokens_per_second)
        self._yields.append((statistics.generated_tokens - tokens) / max(1, statistics.steps - steps))

    def sparklines(self, width: int) -> list[Content]:
        """Return both as lines of ``width`` cells, the latest value at their end."""
        rows = (("tok/s", self._speeds, ".0f"), ("tok/step", self._yields, ".1f"))
        room = width - SPARK_NAME - SPARK_VALUE
        return [
            Content.assemble(
                (f"{name:<{SPARK_NAME}}", MUTED),
                (sparkline(list(values), room), "$success"),
                f" {values[-1]:{form}}" if values else "",
            )
            for name, values, form in rows
        ]


def metric_rows(s: Statistics, step: Inspection | None, *, measuring: bool) -> Content:
    """Return a reply's metrics, a row each; those of a step are of ``step``, if that is known."""
    if not s.steps:
        return Content("\n").join(Content.styled(f"{name:<21}–", MUTED) for name in METRICS)
    if step is not None and not step.prompt:  # the step that the views show
        s = msgspec.structs.replace(
            s,
            forward_tokens=1 + len(step.candidates) + sum(map(len, step.window)),
            candidates=len(step.candidates),
            window_size=len(step.window[0]) if step.window else 0,
            ngram_size=step.ngram_size,
        )
    unknown = "measuring…" if measuring else "not measured"
    values = (
        speedup_words(s, unknown),
        f"{s.tokens_per_later_step:.2f}" if s.steps > 1 else unknown,
        unknown if s.plain_step_seconds is None else f"{1000 * s.plain_step_seconds:.1f} ms",
        f"{s.step_milliseconds:.1f} ms" if s.step_milliseconds else unknown,
        f"{s.guessing_steps} of {s.guessing_steps + s.resting_steps}",
        str(s.forward_tokens),
        str(s.candidates),
        window(s),
        str(s.pool_size),
    )
    names = (METRICS[0], *SUM, *METRICS[4:]) if values[0].endswith("x") else METRICS
    lines = [Content.assemble((f"{name:<21}", MUTED), value) for name, value in zip(names, values, strict=False)]
    sources = ", ".join(f"{origin} {count}" for origin, count in s.verified_from)
    none = "not known" if s.verified_tokens else "none yet"
    return Content("\n").join([*lines, Content.assemble((f"{METRICS[-1]} ", MUTED), sources or none)])


def histogram(runs: tuple[int, ...]) -> list[Content]:
    """Return the histogram of accepted candidates per step; the last row gathers the longest runs."""
    counts = [*runs[: HISTOGRAM_ROWS - 1], sum(runs[HISTOGRAM_ROWS - 1 :])]
    counts += [0] * (HISTOGRAM_ROWS - len(counts))
    most = max(*counts, 1)
    lines = [Content.styled("guesses kept · steps", MUTED)]
    for length, count in enumerate(counts):
        more = "+" if length == HISTOGRAM_ROWS - 1 and len(runs) > HISTOGRAM_ROWS else " "
        bar = "█" * round(HISTOGRAM_WIDTH * count / most)
        lines.append(Content.assemble(f"{length}{more} ", (bar, "$success"), f" {count}"))
    return lines
