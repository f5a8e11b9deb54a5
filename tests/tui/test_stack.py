"""A column of widgets takes children before it is shown and while it is, and none once the application ends."""

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


async def test_a_column_takes_no_more_once_the_application_ends() -> None:
    """A notice may arrive after the key that quits, and Textual mounts nothing then."""
    app = Column()
    async with app.run_test():
        app.exit()
        app.column.add(Static("late"))
        assert texts(app.column) == []
