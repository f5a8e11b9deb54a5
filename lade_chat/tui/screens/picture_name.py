"""Dialog for a picture's file name; the extension selects the format."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from lade_chat.errors import LadeChatError
from lade_chat.presentation.sanitize import printable
from lade_chat.tui.widgets.dialog import Dialog

FORMATS = ".html or .svg, in dark and light · .png · .gif or .cast, in motion"


class PictureName(Dialog[None]):
    """The dialog: Enter writes the picture, and closes the dialog unless the name is refused; Esc cancels."""

    AUTO_FOCUS = "Input"  # which selects the name, so that typing replaces it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", priority=True)]

    def __init__(self, name: str, write: Callable[[str], None]) -> None:
        """
        Args:
            name: the one to begin with.
            write: given the name; raises LadeChatError for what can be told at once.
        """
        super().__init__()
        self._wanted, self._write = name, write

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "A picture of this race"
            dialog.border_subtitle = "Enter writes it · Esc cancels"
            error = Static(classes="error", markup=False)
            error.display = False
            yield error
            yield Input(self._wanted, compact=True)
            yield Static(FORMATS, markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._write(event.value.strip())
        except LadeChatError as error:
            line = self.query_one(".error", Static)
            line.update(Content(printable(str(error))))
            line.display = True
        else:
            self.dismiss()
