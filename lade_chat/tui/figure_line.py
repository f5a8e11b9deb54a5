"""A line of figures that knows its width."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widget import Widget

from lade_chat.figures import Part, fit


class FigureLine(Widget):
    """One line; what does not fit is left out, the least important first."""

    def __init__(self, parts: Sequence[Part] = (), *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._parts = list(parts)

    def show(self, parts: Sequence[Part]) -> None:
        self._parts = list(parts)
        self.refresh()

    def render(self) -> Content:
        return Content(fit(self._parts, self.size.width)) if self._parts else Content("")
