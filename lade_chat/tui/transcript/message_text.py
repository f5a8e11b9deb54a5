"""A message as it was typed: a long one folded, and a line for each file that goes with it."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.attachments import Attachment, parted
from lade_chat.presentation.metrics import counted
from lade_chat.presentation.sanitize import printable

MAX_ROWS = 10
"""Longer messages are folded."""
ROW = 100
"""About so many characters stand in a row."""
SHOWN_LINES, SHOWN_CHARACTERS = 3, 300
"""Lines and characters shown of a folded message."""


class MessageText(Vertical):
    """The typed text as it is, with one clickable line per attached file."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._typed, self._files = parted(question)

    def compose(self) -> ComposeResult:
        typed = printable(self._typed)
        yield FoldedMessage(typed) if is_long(typed) else Static(Content(typed), markup=False)
        for file in self._files:
            yield FoldedFile(file)


class Folded(Static):
    """A text shown in part; a click or ``toggle`` opens all of it."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._open = False

    def on_mount(self) -> None:
        self._draw()

    def on_click(self) -> None:
        if self.screen.get_selected_text() is None:
            self.toggle()

    def toggle(self) -> None:
        """Open it, or fold it again."""
        self._open = not self._open
        self._draw()

    def _draw(self) -> None:
        self.update(self._content(opened=self._open))

    def _content(self, *, opened: bool) -> Content:
        raise NotImplementedError


class FoldedFile(Folded):
    """One line, or the file below it."""

    def __init__(self, file: Attachment) -> None:
        super().__init__()
        self._file = file

    def _content(self, *, opened: bool) -> Content:
        lines = counted(len(self._file.text.splitlines()), "line")
        head = f"{'▾' if opened else '▸'} {printable(self._file.name)} · {lines}"
        return Content(f"{head}\n{printable(self._file.text)}" if opened else head)


class FoldedMessage(Folded):
    """The beginning of a long message, or all of it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def _content(self, *, opened: bool) -> Content:
        lines = self._text.splitlines()
        head = "\n".join(lines[:SHOWN_LINES])[:SHOWN_CHARACTERS]
        if opened:
            return Content.assemble(self._text, ("\n▾ fold", "$foreground-muted"))
        more = len(lines) - SHOWN_LINES
        rest = counted(more, "more line") if more > 0 else counted(len(self._text) - len(head), "more character")
        return Content.assemble(head, (f"\n▸ {rest}", "$foreground-muted"))


def is_long(message: str) -> bool:
    """Return True for a message that would fill a screen."""
    return sum(1 + len(line) // ROW for line in message.splitlines()) > MAX_ROWS
