"""One turn of the conversation: who speaks, in a narrow column, and beside it what is said.

A turn is made of few widgets: every line break in a running reply lays out all of them anew.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lade_chat.sanitize import printable


class Turn(Horizontal):
    """The speaker's name on the left, ``said`` on the right."""

    speaker = ""

    def __init__(self, said: Widget) -> None:
        super().__init__()
        self.said = said
        self.said.add_class("said")

    def compose(self) -> ComposeResult:
        yield Static(self.speaker, classes="speaker", markup=False)
        yield self.said


class UserTurn(Turn):
    """What the user said, exactly; a dim word below it while it waits for the model."""

    speaker = "You"

    def __init__(self, text: str) -> None:
        self._text = Content(printable(text))
        waiting = Content.styled("waits for the model", "$text-muted italic")
        self._static = Static(Content("\n").join([self._text, waiting]), markup=False)
        super().__init__(self._static)

    def answered(self) -> None:
        """It waits no longer."""
        self._static.update(self._text)
