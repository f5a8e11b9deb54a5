"""The list of completions above the prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.tui.prompt.completion import Completion

NAME_WIDTH = 12
MAX_ROWS = 7
OTHER_ROWS = 8
"""Rows that a list leaves: two of the transcript, header, status, a prompt of one line, and footer."""


class CompletionList(OptionList, can_focus=False):
    """Shown only while there is something to choose; the prompt keeps the focus."""

    @dataclass
    class Chosen(Message):
        """A completion was clicked."""

    def __init__(self) -> None:
        super().__init__(compact=True)
        self._offered: list[Completion] = []
        self._highlights = True
        self.display = False

    def limit_height(self, screen_rows: int) -> None:
        """Leave the prompt on the screen, however small that is."""
        self.styles.max_height = max(1, min(MAX_ROWS, screen_rows - OTHER_ROWS))

    def offer(self, found: Sequence[Completion], *, highlight: bool = True) -> None:
        """Show these completions, the first highlighted or none yet; hide the list if there are none."""
        offered, self._highlights = (self._offered, self._highlights), highlight
        if (list(found), highlight) == offered:
            return
        self._offered = list(found)
        self.clear_options()
        self.add_options(Option(_row(each)) for each in found)
        self.highlighted = 0 if found and highlight else None
        self.display = bool(found)

    def close(self) -> bool:
        """Hide the list; False if it was hidden already."""
        was_open = self.display
        self.display = False
        return was_open

    def pick(self) -> None:
        """Highlight the first completion if none is, and show the list again if it was closed."""
        self.display = bool(self._offered)
        if self.highlighted is None and self._offered:
            self.highlighted = 0

    @property
    def chosen(self) -> Completion | None:
        """The highlighted completion; None while none is, or the list is hidden."""
        place = self.highlighted
        return self._offered[place] if self.display and place is not None else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen())


def _row(completion: Completion) -> Content:
    if not completion.about:
        return Content(completion.text)
    return Content.assemble(f"{completion.text:<{NAME_WIDTH}} ", (completion.about, "dim"))
