"""A column of widgets that accepts children at any time, and a scroll that follows its end."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


# Textual takes styles from a class's first base only: this one stands last.
class Blank(Widget):
    """A container without visible content of its own, whose rows are rendered once and reused.

    Textual renders every row of every container beneath a changed text.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render one row for all."""
        return super().render_lines(crop.crop_size((crop.width, 1))) * crop.height


class Stack(Vertical, Blank):
    """Widgets below one another, in the order in which they were added."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._early: list[Widget] | None = []

    def compose(self) -> ComposeResult:
        early, self._early = self._early or [], None
        yield from early

    def add(self, widget: Widget, *, after: Widget | None = None, before: Widget | None = None) -> None:
        """Add a widget at the end, or beside one that was added before; nothing once the application ends."""
        if self._early is None:
            if self.is_attached:
                self.mount(widget, before=before, after=after)
            return
        end = len(self._early)
        place = self._early.index(after) + 1 if after else self._early.index(before) if before else end
        self._early.insert(place, widget)

    def discard(self, widget: Widget) -> None:
        if self._early is None:
            widget.remove()
        else:
            self._early.remove(widget)

    def clear(self) -> None:
        if self._early is None:
            self.remove_children()
        else:
            self._early.clear()


class FollowScroll(VerticalScroll, Blank, can_focus=False):
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
