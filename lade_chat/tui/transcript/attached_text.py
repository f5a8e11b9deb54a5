"""A question on the screen: the typed text, and each attached file folded to one line."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.attachments import Attachment, parted
from lade_chat.presentation.metrics import counted
from lade_chat.presentation.sanitize import printable


class AttachedText(Vertical):
    """The typed text as it is, with one clickable line per attached file."""

    def __init__(self, question: str) -> None:
        super().__init__()
        self._typed, self._files = parted(question)

    def compose(self) -> ComposeResult:
        yield Static(Content(printable(self._typed)), markup=False)
        for file in self._files:
            yield FoldedFile(file)


class FoldedFile(Static):
    """One line, or the file below it."""

    def __init__(self, file: Attachment) -> None:
        super().__init__(markup=False)
        self._file = file
        self._open = False

    def on_mount(self) -> None:
        self._draw()

    def on_click(self) -> None:
        if self.screen.get_selected_text() is None:
            self._open = not self._open
            self._draw()

    def _draw(self) -> None:
        lines = counted(len(self._file.text.splitlines()), "line")
        head = f"{'▾' if self._open else '▸'} {printable(self._file.name)} · {lines}"
        text = f"{head}\n{printable(self._file.text)}" if self._open else head
        self.update(Content(text))
