"""One turn of the conversation: who speaks, in a narrow column, and beside it what is said."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lade_chat.sanitize import printable


class Turn(Horizontal):
    """A name on the left; subclasses say what stands on the right."""

    speaker = ""

    def compose(self) -> ComposeResult:
        yield Static(self.speaker, classes="speaker", markup=False)
        with Vertical(classes="said"):
            yield from self.body()

    def body(self) -> list[Widget]:
        return []


class UserTurn(Turn):
    """What the user said, exactly; a dim word below it while it waits for the model."""

    speaker = "You"

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text
        self._waiting = Static("waits for the model", classes="waiting", markup=False)

    def body(self) -> list[Widget]:
        return [Static(Content(printable(self._text)), markup=False), self._waiting]

    def answered(self) -> None:
        """It waits no longer."""
        self._waiting.display = False
