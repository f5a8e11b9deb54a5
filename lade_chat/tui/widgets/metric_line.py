"""A line of metrics fitted to its width."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from lade_chat.presentation.metrics import Part, fit
from lade_chat.tui.widgets.tooltips import ExplainedLine


class FigureLine(ExplainedLine):
    """One line; what does not fit is left out, the least important first."""

    def show(self, parts: Sequence[Part]) -> None:
        self.parts = list(parts)
        self.refresh()

    def render(self) -> Content:
        return Content(fit(self.parts, self.size.width)) if self.parts else Content("")
