"""Debug panel: a reply's metrics and the details of its last step, by page or all at once where there is room."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TypeAlias

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Click, Resize
from textual.widgets import Static

from lade_chat.presentation.metric_words import speedup_words, window
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import Statistics
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.inspector.step_views import MUTED, draw_costs, draw_sources, draw_tree, draw_window
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.widgets.metric_lines import MetricRows, explain, sparkline

HISTOGRAM_ROWS = 5
HISTOGRAM_WIDTH = 12
HISTORY = 60
"""Length of the sparklines, in batches of tokens."""
SPARK_NAME, SPARK_VALUE = 9, 6
METRICS = (
    *("speed-up over plain", "tokens/later step", "a plain step takes", "a step takes", "steps that guessed"),
    *("tokens per forward", "candidates", "window (W × N)", "n-grams in the pool", "verified from"),
)
SUM = ("is tokens/later step", "times a plain step", "divided by a step")
"""Names of the rows below the speed-up, where they tell what it follows from."""
ROOMY = 58
"""From this width on the metrics stand beside the accepted runs, where all pages are shown."""
CRAMPED = 50
"""Below this width the metrics stand above the accepted runs."""
NOTHING_YET = (
    "nothing yet: ask something, or {pause} pauses a reply and {step_once} takes one step;"
    " a conversation does not keep its steps"
)
DrawStep: TypeAlias = Callable[[Inspection, int], list[Content]]
"""Draws one aspect of a step, in lines of at most so many cells."""
_VIEWS: Mapping[str, tuple[str, str, DrawStep]] = {
    "window": ("Window: iterations ↓, positions →", "window", draw_window),
    "candidates": ("Candidates, and what was accepted", "candidate tree", draw_tree),
    "sources": ("Accepted of the guesses that had their chance", "sources", draw_sources),
    "cost": ("What a step costs by its candidates", "budget", draw_costs),
}
"""The title of each page's view, the metric that explains it, and what draws it."""
PAGES = ("metrics", *_VIEWS)


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


class InspectorView(Static):
    """One aspect of the last step, below its title; ``metric`` explains it."""

    def __init__(self, title: str, metric: str, draw: DrawStep, *, id: str) -> None:  # noqa: A002
        super().__init__(markup=False, id=id, classes="inspector-view")
        explain(self, metric)
        self._title, self._draw_step = title, draw
        self._inspection: Inspection | None = None

    def show(self, inspection: Inspection | None) -> None:
        """Draw a step; None where nothing has been inspected yet."""
        self._inspection = inspection
        self.on_resize()

    def on_resize(self) -> None:
        width = self.size.width
        if not width:
            return
        lines = [Content.styled(keys_of(self).put_into(NOTHING_YET), MUTED)]
        if self._inspection is not None:
            lines = self._draw_step(self._inspection, width)
        content = Content("\n").join([Content.styled(self._title, "bold"), *lines])
        # Of many steps most take as many lines as the one before: then nothing else has to be laid out.
        self.update(content, layout=content.get_height({}, width) != self.size.height)


class DebugPanel(VerticalScroll):
    """The debug panel, beside the transcript or, on narrow screens, below it."""

    can_focus = False

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._page = 0
        self._was_all_at_once = False
        self._state = state
        self._history = SpeedHistory()

    def compose(self) -> ComposeResult:
        with Horizontal(id="debug-numbers"):
            yield MetricRows(METRICS, id="debug-metrics")
            yield Static(markup=False, id="debug-runs")
        yield Static(markup=False, id="debug-step")
        for page, view in _VIEWS.items():
            yield InspectorView(*view, id=f"debug-{page}")

    def on_mount(self) -> None:
        explain(self.query_one("#debug-runs"), "guesses kept · steps", "sparklines")
        self._turn()

    def on_resize(self, _event: Resize) -> None:
        """The screen may have got room for all pages, or lost it."""
        self.set_class(self.size.width >= ROOMY, "-roomy")
        self.set_class(self.size.width < CRAMPED, "-cramped")
        if self._all_at_once is not self._was_all_at_once:
            self._turn()
        else:
            self._draw()

    def show(self, state: ChatState) -> None:
        """Show the last reply's metrics and its last step."""
        self._history.take(state.statistics)
        self._state = state
        self._draw()

    def turn_page(self) -> bool:
        """Go to the next page; False after the last, or where all are shown at once."""
        is_last = self._all_at_once or self._page == len(PAGES) - 1
        self._page = 0 if is_last else self._page + 1
        self._turn()
        return not is_last

    def on_click(self, _event: Click) -> None:
        self.turn_page()

    @property
    def _all_at_once(self) -> bool:
        return self.screen.has_class("-very-wide")

    def _arrange(self) -> None:
        """Show what belongs to the page; of all pages at once, only those that have something to show."""
        state = self._state
        views = len(_VIEWS) if state.inspection is not None else 1 if state.statistics is not None else 0
        for number, part in enumerate((self.query_one("#debug-numbers"), *self.query(InspectorView))):
            part.display = number <= views if self._all_at_once else number == self._page
        self.query_one("#debug-step").display = self._all_at_once and state.inspection is not None

    def _turn(self) -> None:
        """Show the page from its beginning."""
        self._was_all_at_once = self._all_at_once
        self.set_class(bool(self._page), "-tall-page")
        self.scroll_home(animate=False)
        self._draw()

    def _title(self) -> None:
        state, step = self._state, "inspector"
        if state.inspection is not None:
            number = state.inspection.step + 1
            steps = max(number, state.statistics.steps if state.statistics is not None else 0)
            step = f"step {number} of {steps}"
            if number < steps and state.phase is not Phase.REPLYING:
                step = f"the last to guess: {step}"
        where = f"{step}, paused" if state.paused else step
        key = keys_of(self).first("turn_debug_page")
        page = "" if self._all_at_once else f" · {PAGES[self._page]} {self._page + 1}/{len(PAGES)} · {key} next"
        self.border_title = f"{where}{page}"
        self.query_one("#debug-step", Static).update(Content.styled(where[:1].upper() + where[1:], "$text-accent"))

    def _draw(self) -> None:
        if not self.children:
            return  # once it is composed, it is drawn
        state = self._state
        s = state.statistics or Statistics()
        self._arrange()
        self._title()
        if self.query_one("#debug-numbers").display:
            rows = metric_rows(s, state.inspection, measuring=state.measuring)
            self.query_one("#debug-metrics", Static).update(rows)
            runs = self.query_one("#debug-runs", Static)
            shown = [Content.styled("" if state.measuring else keys_of(self).put_into(NOTHING_YET), MUTED)]
            if s.steps:
                shown = [*histogram(s.accepted_runs), *self._history.sparklines(runs.size.width)]
            runs.update(Content("\n").join(shown))
        for view in self.query(InspectorView):
            if view.display:
                view.show(state.inspection)
