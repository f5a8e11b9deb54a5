"""Bases of all screens: styled for their size from the start; dismissed at most once, however many keys arrive."""

from __future__ import annotations

from contextlib import suppress
from inspect import unwrap

from textual import work
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette
from textual.containers import Vertical
from textual.css.query import NoMatches
from textual.events import Resize, ScreenResume
from textual.geometry import Size
from textual.message import Message
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable


class SizedScreen(Screen[ScreenResultType]):
    """A screen that is styled and laid out once as it comes up.

    Textual sets the classes of its size after the first layout, and then styles everything for the third time; a Resize
    to the size that it has, which comes twice at its start, would lay everything out again.
    """

    _resized: Size | None = None

    def post_message(self, message: Message) -> bool:
        if isinstance(message, ScreenResume) and not self.is_mounted:
            message = ScreenResume(refresh_styles=False)
        if isinstance(message, Resize):
            if message.size == self._resized:
                return True
            self._resized = message.size
        return super().post_message(message)

    def on_compose(self) -> None:
        app = self.app
        of_app = app.HORIZONTAL_BREAKPOINTS, app.VERTICAL_BREAKPOINTS
        own = self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS
        for cells, breakpoints, others in zip(app.size, own, of_app, strict=True):
            reached = [each for each in (others if breakpoints is None else breakpoints) or () if cells >= each[0]]
            if reached:
                self.add_class(max(reached)[1], update=False)


class ClosingScreen(SizedScreen[ScreenResultType]):
    """A screen that can be closed.

    Textual's ``dismiss`` takes away whichever screen is on top, and calls back again: asked twice, as by two keys or
    clicks before it is gone, it closes the screen below too, and the last one with an error.
    """

    @property
    def is_on_stack(self) -> bool:
        """True while the screen can be updated: one that is closing is still attached when its widgets are gone."""
        return self in self.app.screen_stack

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close, and give back ``result``; nothing if it is closed already, or another screen covers it."""
        if self.app.screen is not self:
            return AwaitComplete()
        return super().dismiss(result)


class DialogBox(Vertical):
    """The box of a dialog: its title above, its keys below."""

    DEFAULT_CLASSES = "dialog"

    def __init__(self, title: str, keys: str = "") -> None:
        super().__init__()
        self.border_title, self.border_subtitle = title, keys


# Textual takes styles from a class's first base only.
class Dialog(ModalScreen[ScreenResultType], ClosingScreen[ScreenResultType]):
    """The base of all modal screens: what is below it shows through, and gets no keys."""

    def complain(self, line: str) -> None:
        """Say what is wrong, in the dialog's line of the class ``error``."""
        error = self.query_one(".error", Static)
        error.update(printable(line))
        error.display = True


class Palette(CommandPalette, ClosingScreen[None]):
    """Textual's command palette."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A list that has just come up has no pages before it is laid out; to turn them then is an error in Textual."""
        return action != "command_list" or self.query_one(CommandList).size.height > 0

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        """Search; closed before the search has begun or ended, the palette has no list any more."""
        with suppress(NoMatches):
            await unwrap(CommandPalette._gather_commands)(self, search_value)
