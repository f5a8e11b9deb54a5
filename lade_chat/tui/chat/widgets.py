"""ChatWidgets: the widgets that the chat screen's parts act on."""

from __future__ import annotations

from textual.screen import Screen

from lade_chat.tui.conversations.side_bar import SideBar
from lade_chat.tui.prompt.editor import Prompt
from lade_chat.tui.terminal.key_names import KeyNames, keys_of
from lade_chat.tui.transcript.column import Transcript
from lade_chat.tui.widgets.status_bar import StatusBar


class ChatWidgets:
    """Typed access to the chat screen's widgets, once ``screen`` is composed."""

    def __init__(self, screen: Screen[None]) -> None:
        self.screen = screen

    @property
    def transcript(self) -> Transcript:
        return self.screen.query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.screen.query_one(Prompt)

    @property
    def status(self) -> StatusBar:
        return self.screen.query_one(StatusBar)

    @property
    def side_bar(self) -> SideBar:
        return self.screen.query_one(SideBar)

    @property
    def key_names(self) -> KeyNames:
        return keys_of(self.screen)

    def hint(self, text: str) -> None:
        """Show a line for a moment."""
        self.status.hint(text)
