"""Metrics in small: lines fitted to their width with tooltips that explain them, sparklines and columns."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.events import MouseMove
from textual.widget import Widget
from textual.widgets import Static

from lade_chat.presentation.metric_help import METRIC_HELP
from lade_chat.presentation.status_parts import StatusPart, fit, fitting


def explain(widget: Widget, *metrics: str) -> None:
    """Set a widget's tooltip to the explanations of these metrics; without metrics, remove it."""
    lines = [Content.assemble((f"{metric}: ", "bold"), METRIC_HELP[metric]) for metric in dict.fromkeys(metrics)]
    widget.tooltip = Content("\n").join(lines) if lines else None


class MetricRows(Static):
    """Metrics, one per row; the tooltip explains the one under the pointer."""

    def __init__(self, metrics: Sequence[str], *, id: str) -> None:  # noqa: A002
        super().__init__(markup=False, id=id)
        self._metrics = metrics
        explain(self, *metrics)

    def on_mouse_move(self, event: MouseMove) -> None:
        if 0 <= event.y < len(self._metrics):
            explain(self, self._metrics[event.y])


class MetricLine(Widget):
    """Metrics on one line, whose tooltip explains those shown; if they do not fit, the least important are left out."""

    def __init__(self, parts: Sequence[StatusPart] = (), *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.parts = list(parts)

    def on_enter(self) -> None:
        shown = [part for part, _ in fitting(self.parts, self.size.width)] if self.parts else []
        explain(self, *(part.metric for part in shown if part.metric))

    def show(self, parts: Sequence[StatusPart]) -> None:
        self.parts = list(parts)
        self.refresh()

    def render(self) -> Content:
        return Content(fit(self.parts, self.size.width)) if self.parts else Content("")


BLOCKS = " ▁▂▃▄▅▆▇█"


def columns(values: Sequence[float], height: int = 1, top: float | None = None) -> list[str]:
    """One column a value, full at ``top``, by default the largest; what is above 0 shows. The top line comes first."""
    top = max(values, default=0.0) if top is None else top
    top, steps = max(top, 1e-12), len(BLOCKS) - 1
    filled = [0 if value <= 0 else max(1, round(min(1.0, value / top) * height * steps)) for value in values]
    return [
        "".join(BLOCKS[max(0, min(steps, full - line * steps))] for full in filled) for line in reversed(range(height))
    ]


def sparkline(values: Sequence[float], width: int, top: float | None = None) -> str:
    """The last ``width`` values on one line."""
    return columns(values[-width:] if width > 0 else (), top=top)[0]
