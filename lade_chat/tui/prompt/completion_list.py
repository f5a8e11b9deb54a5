"""The list above the prompt, of what can be completed in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.tui.prompt.completion import Completion

NAME_WIDTH = 12


class CompletionList(OptionList, can_focus=False):
    """There only while there is something to choose from; the prompt keeps the focus."""

    @dataclass
    class Chosen(Message):
        """One of them was clicked on."""

    def __init__(self) -> None:
        super().__init__(compact=True)
        self._offered: list[Completion] = []
        self.display = False

    def offer(self, found: Sequence[Completion]) -> None:
        """Show these; none of them has the list go away."""
        if list(found) == self._offered:
            return
        self._offered = list(found)
        self.clear_options()
        self.add_options(Option(_row(each)) for each in found)
        self.highlighted = 0 if found else None
        self.display = bool(found)

    def close(self) -> bool:
        """Have it go away; False if it was not there."""
        was_open = self.display
        self.display = False
        return was_open

    def reopen(self) -> None:
        """Have it come back, if there still is something to choose from."""
        self.display = bool(self._offered)

    @property
    def chosen(self) -> Completion | None:
        """The one that is highlighted, as long as the list is there."""
        place = self.highlighted
        return self._offered[place] if self.display and place is not None else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen())


def _row(completion: Completion) -> Content:
    if not completion.about:
        return Content(completion.text)
    return Content.assemble(f"{completion.text:<{NAME_WIDTH}} ", (completion.about, "$text-muted"))
