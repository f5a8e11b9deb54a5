"""A column of widgets that accepts children at any time, and a scroll that follows its end."""

from __future__ import annotations

from collections.abc import Awaitable
from itertools import takewhile

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.geometry import Region, Size
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static


# Textual takes styles from a class's first base only: this one stands last.
class Blank(Widget):
    """A container without visible content of its own, whose rows are rendered once and reused.

    Textual renders every row of every container beneath a changed text.
    """

    virtual_size = var(Size(0, 0))
    """Textual lays a screen out once more whenever that of a widget changes, which moves nothing here."""
    _row: tuple[object, list[Strip]] = (None, [])

    def render_lines(self, crop: Region) -> list[Strip]:
        """Render one row for all, anew if it has another width or colour."""
        key = crop.width, self.visual_style, self.app.theme
        if key != self._row[0]:
            self._row = key, super().render_lines(crop.crop_size((crop.width, 1)))
        return self._row[1] * crop.height


class Stack(Vertical, Blank):
    """Widgets below one another, in the order in which they were added."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._early: list[Widget] | None = []

    def compose(self) -> ComposeResult:
        early, self._early = self._early or [], None
        yield from early

    def add(
        self, widget: Widget, *, after: Widget | None = None, before: Widget | None = None
    ) -> Awaitable[None] | None:
        """Add a widget at the end, or beside one that was added before; nothing once the application ends.

        What is returned can be awaited for the widget to be complete, in a stack that is on the screen.
        """
        if self._early is None:
            return self.mount(widget, before=before, after=after) if self.is_attached else None
        end = len(self._early)
        place = self._early.index(after) + 1 if after else self._early.index(before) if before else end
        self._early.insert(place, widget)
        return None

    def discard(self, widget: Widget) -> None:
        if self._early is None:
            widget.remove()
        else:
            self._early.remove(widget)


class FollowScroll(VerticalScroll, Blank, can_focus=False):
    """Content starts at the top until it fills the height; an anchored scroll alone would start at the bottom."""

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self.column = Stack("follow-column")
        self._held: tuple[Widget, int] | None = None
        self._spacer = Static(classes="left-out")
        self._left_out: list[Widget] = []
        """The widgets that are left out of the layout; the spacer has their height."""
        for widget in (self._spacer, *widgets):
            self.column.add(widget)

    def compose(self) -> ComposeResult:
        yield self.column

    def follow(self) -> None:
        """Go to the end and stay there, until the user scrolls away."""
        self._held = None
        self.anchor()

    def hold(self, widget: Widget, row: int) -> None:
        """Keep ``widget`` at this row of the view while the heights of texts change, until the user scrolls away."""
        self.release_anchor()
        self._held = widget, row
        self.call_after_refresh(self._scroll_to_held)

    def leave_out(self) -> None:
        """Leave what stands more than a page above the view out of the layout, which every new line needs."""
        shown = [each for each in self.column.children if each.display]
        top = self.region.y - self.size.height
        far = list(takewhile(lambda each: each.region.bottom < top and not each.has_focus, shown[:-1]))
        if out := [each for each in far if each is not self._spacer]:
            self._spacer.styles.height = shown[len(far)].region.y - far[0].region.y
            for each in out:
                each.display = False
            self._spacer.display = True
            self._left_out += out

    def bring_back(self) -> None:
        """Lay out again what was left out."""
        self._spacer.display = False
        for each in self._left_out:
            each.display = True
        self._left_out = []

    def clear(self, *kept: Widget) -> None:
        """Remove all widgets but these."""
        self._left_out, self._spacer.display = [], False
        self.column.remove_children([each for each in self.column.children if each not in (self._spacer, *kept)])

    def release_anchor(self) -> None:
        """Stay at the present place: every scroll by the user begins with this."""
        self._held = None
        super().release_anchor()

    def watch_virtual_size(self) -> None:
        if self._held is not None:
            self.call_after_refresh(self._scroll_to_held)

    def _scroll_to_held(self) -> None:
        """Show the widget at its row; further up if its end would be out of view, but never above its beginning."""
        if self._held is None:
            return
        widget, row = self._held
        if not (region := widget.virtual_region).size:
            return  # not laid out yet
        end = region.bottom - self.scrollable_content_region.height
        self.scroll_y = self.scroll_target_y = min(region.y, max(region.y - row, end))
