"""Debug panel: a reply's metrics and the details of its last step, by page or all at once where there is room."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Click, Resize
from textual.widgets import Static

from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import Statistics
from lade_chat.tui.inspector.candidate_budget import draw_costs, draw_sources
from lade_chat.tui.inspector.drafts import draw_tree, draw_window
from lade_chat.tui.inspector.numbers import METRICS, SpeedHistory, histogram, metric_rows
from lade_chat.tui.inspector.redrawn import NOTHING_YET, DrawStep, InspectorView
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.widgets.metric_lines import MetricRows, explain

ROOMY = 58
"""From this width on the metrics stand beside the accepted runs, where all pages are shown."""
CRAMPED = 50
"""Below this width the metrics stand above the accepted runs."""
_VIEWS: Mapping[str, tuple[str, str, DrawStep]] = {
    "window": ("Window: iterations ↓, positions →", "window", draw_window),
    "candidates": ("Candidates, and what was accepted", "candidate tree", draw_tree),
    "sources": ("Accepted of the guesses that had their chance", "sources", draw_sources),
    "cost": ("What a step costs by its candidates", "budget", draw_costs),
}
"""The title of each page's view, the metric that explains it, and what draws it."""
PAGES = ("metrics", *_VIEWS)


class DebugPanel(VerticalScroll):
    """The debug panel, beside the transcript or, on narrow screens, below it."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__()
        self._page = 0
        self._was_all_at_once = False
        self._statistics: Statistics | None = None
        self._inspection: Inspection | None = None
        self._measuring = self._paused = self._ended = False
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

    def show(
        self,
        statistics: Statistics | None,
        inspection: Inspection | None,
        measuring: bool,
        *,
        paused: bool,
        ended: bool,
    ) -> None:
        """The last reply's metrics and its last step; what it has not measured may still come while ``measuring``."""
        self._history.take(statistics)
        self._statistics, self._inspection, self._measuring, self._paused = statistics, inspection, measuring, paused
        self._ended = ended
        self._draw()

    def turn_page(self) -> bool:
        """Go to the next page; False after the last, or where all are shown at once."""
        if self._all_at_once or self._page == len(PAGES) - 1:
            self._page = 0
            self._turn()
            return False
        self._page += 1
        self._turn()
        return True

    def on_click(self, _event: Click) -> None:
        self.turn_page()

    @property
    def _all_at_once(self) -> bool:
        return self.screen.has_class("-very-wide")

    def _arrange(self) -> None:
        """Show what belongs to the page; of all pages at once, only those that have something to show."""
        views = len(_VIEWS) if self._inspection is not None else 1 if self._statistics is not None else 0
        for number, part in enumerate((self.query_one("#debug-numbers"), *self.query(InspectorView))):
            part.display = number <= views if self._all_at_once else number == self._page
        self.query_one("#debug-step").display = self._all_at_once and self._inspection is not None

    def _turn(self) -> None:
        """Show the page from its beginning."""
        self._was_all_at_once = self._all_at_once
        self.set_class(bool(self._page), "-tall-page")
        self.scroll_home(animate=False)
        self._draw()

    def _title(self) -> None:
        step = "inspector"
        if self._inspection is not None:
            number = self._inspection.step + 1
            steps = max(number, self._statistics.steps if self._statistics is not None else 0)
            step = f"step {number} of {steps}"
            if number < steps and self._ended:
                step = f"the last to guess: {step}"
        where = f"{step}, paused" if self._paused else step
        key = keys_of(self).first("turn_debug_page")
        page = "" if self._all_at_once else f" · {PAGES[self._page]} {self._page + 1}/{len(PAGES)} · {key} next"
        self.border_title = f"{where}{page}"
        self.query_one("#debug-step", Static).update(Content.styled(where[:1].upper() + where[1:], "$text-accent"))

    def _draw(self) -> None:
        if not self.children:
            return  # once it is composed, it is drawn
        s = self._statistics or Statistics()
        self._arrange()
        self._title()
        numbers = self.query_one("#debug-numbers")
        if numbers.display:
            self.query_one("#debug-metrics", Static).update(metric_rows(s, self._inspection, measuring=self._measuring))
            self.query_one("#debug-runs", Static).update(self._runs_and_sparks(s))
        for view in self.query(InspectorView):
            if view.display:
                view.show(self._inspection)

    def _runs_and_sparks(self, s: Statistics) -> Content:
        if s.steps:
            room = self.query_one("#debug-runs").size.width
            return Content("\n").join([*histogram(s.accepted_runs), *self._history.sparklines(room)])
        return Content.styled("" if self._measuring else keys_of(self).put_into(NOTHING_YET), "$foreground-muted")
