"""A column of widgets takes children before it is shown, while it is, and after it was removed."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import Static

from lade_chat.tui.widgets.stack import Stack


class Column(App[None]):
    """A screen with one column."""

    def __init__(self) -> None:
        super().__init__()
        self.column = Stack()

    def compose(self) -> ComposeResult:
        yield self.column


def texts(column: Stack) -> list[str]:
    return [str(child.render()) for child in column.query(Static)]


async def test_widgets_stand_in_order_whenever_they_were_added() -> None:
    app = Column()
    second = Static("second")
    app.column.add(second)
    app.column.add(Static("first"), before=second)
    async with app.run_test() as pilot:
        app.column.add(Static("third"))
        await pilot.pause()
        assert texts(app.column) == ["first", "second", "third"]


async def test_a_column_that_was_removed_takes_no_more() -> None:
    """A notice may arrive while the screen that it is for is being closed."""
    app = Column()
    async with app.run_test() as pilot:
        await app.column.remove()
        app.column.add(Static("late"))
        await pilot.pause()
        assert texts(app.column) == []
