"""A text area whose words and lines are deleted and put back with the keys of a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.widgets import TextArea

from lade_chat.presentation.sanitize import printable

TAKEN = r",ctrl\+d$|^ctrl\+[wy],"
"""Ctrl+D is left to the screen, Ctrl+W and Ctrl+Y to what a shell does with them."""


class ShellArea(TextArea, inherit_bindings=False):
    """A text area with readline's kill ring of one entry: consecutive Ctrl+K, U, W, Alt+D accumulate, Ctrl+Y yanks."""

    # Ctrl+D and F6 are the screen's keys: without the editor's own bindings the footer shows them in its order.
    BINDINGS: ClassVar[list[BindingType]] = [
        replace(binding, key=re.sub(TAKEN, "", binding.key))
        for binding in TextArea.BINDINGS
        if isinstance(binding, Binding) and binding.key != "f6"
    ]
    # Beside Ctrl+A, E, U and K, which the editor has, words as readline goes through them.
    BINDINGS += [
        Binding("ctrl+w", "delete_to_blank", show=False),
        Binding("ctrl+y", "put_back", show=False),
        Binding("ctrl+shift+z", "redo", show=False),
        Binding("ctrl+underscore", "undo", show=False),
        Binding("alt+left,alt+b", "cursor_word_left", show=False),
        Binding("alt+right,alt+f", "cursor_word_right", show=False),
        Binding("alt+d", "delete_word_right", show=False),
    ]
    _deleted = ""
    _after_deletion: tuple[str, int] | None = None

    def on_key(self, event: Key) -> None:
        """Leave Alt and a letter to the bindings: terminals report the letter too, which is not typed."""
        if event.key.startswith("alt+"):
            event.prevent_default()

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn: a recalled message, or a reply, may hold what a terminal would obey."""
        return Text(printable(self.document.get_line(line_index)), end="", no_wrap=True)

    def action_delete_to_start_of_line(self) -> None:
        row, column = self.cursor_location
        with self._kept():
            if column:  # to the start of the line, not only of the row that it wraps to
                self.delete((row, 0), (row, column))
            else:
                super().action_delete_to_start_of_line()

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        row, column = self.cursor_location
        with self._kept():
            if column < (end := len(self.document.get_line(row))):  # of the line, not of the row, here too
                self.delete((row, column), (row, end))
            else:
                await super().action_delete_to_end_of_line_or_delete_line()

    def action_delete_word_right(self) -> None:
        with self._kept():
            super().action_delete_word_right()

    def action_delete_to_blank(self) -> None:
        """Delete what stands between the last blank and the cursor, as Ctrl+W does in a shell."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        word = re.search(r"\S*\s*$", before)
        with self._kept():
            if not self.selection.is_empty or not before or word is None:
                self.action_delete_word_left()
            elif not self.delete_marker():
                self.delete((row, word.start()), (row, column))

    def action_put_back(self) -> None:
        """Insert the text that was killed last."""
        self.replace(self._deleted, *self.selection, maintain_selection_offset=False)

    def delete_marker(self) -> bool:
        """Delete what stands before the cursor for another text; False if nothing does."""
        return False

    @property
    def _place(self) -> tuple[str, int]:
        """The text, and the index of its character at the cursor."""
        row, column = self.cursor_location
        return self.text, sum(len(self.document.get_line(each)) + 1 for each in range(row)) + column

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keep what is deleted meanwhile; right behind another deletion, together with that."""
        before = self._place
        yield
        text, place = self._place
        gone = before[0][place : place + len(before[0]) - len(text)]
        if gone:
            kept = self._deleted if before == self._after_deletion else ""
            self._deleted = gone + kept if place < before[1] else kept + gone
            self._after_deletion = text, place
