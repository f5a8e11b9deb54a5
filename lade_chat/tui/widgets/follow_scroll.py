"""Scrolling column that follows its end while text streams in, unless the user scrolls back."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from lade_chat.tui.widgets.stack import Stack


class FollowScroll(VerticalScroll, can_focus=False):
    """Content starts at the top until it fills the height; an anchored scroll alone would start at the bottom."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self.column = Stack("follow-column")
        for widget in widgets:
            self.column.add(widget)

    def compose(self) -> ComposeResult:
        yield self.column

    def follow(self) -> None:
        """Go to the end and stay there, until the user scrolls away."""
        self.anchor()
