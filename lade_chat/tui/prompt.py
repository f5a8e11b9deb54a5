"""Where the user types: Enter sends, Shift+Enter and Ctrl+J break the line, Up and Down recall."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import TextArea

from lade_chat.sanitize import printable

PLACEHOLDER = "Say something. Enter sends, Ctrl+J breaks the line"


class Prompt(TextArea, inherit_bindings=False):
    """Grows to eight lines. Recalling begins in an empty prompt and ends where the text is edited."""

    # The screen's keys (Ctrl+D, F6) are not an editor's here, so that the footer shows them in its own order.
    BINDINGS: ClassVar[list[BindingType]] = [
        replace(binding, key="delete") if binding.key == "delete,ctrl+d" else binding
        for binding in TextArea.BINDINGS
        if isinstance(binding, Binding) and binding.key != "f6"
    ]

    @dataclass
    class Submitted(Message):
        """The user wants to send ``text``."""

        text: str

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
        )
        self._history: list[str] = []
        self._recalled: int | None = None

    def remember(self, text: str) -> None:
        """Keep what was sent, for recalling."""
        if not self._history or self._history[-1] != text:
            self._history.append(text)
        self._recalled = None

    def put(self, text: str) -> None:
        """Replace the text, cursor at its end."""
        self.load_text(text)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: Key) -> None:
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.post_message(self.Submitted(self.text))
        elif event.key in ("shift+enter", "ctrl+j"):
            event.stop()
            event.prevent_default()
            self.insert("\n")

    async def _on_paste(self, event: Paste) -> None:
        await super()._on_paste(Paste(without_controls(event.text)))
        event.stop()
        event.prevent_default()

    def action_cursor_up(self, select: bool = False) -> None:
        if select or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if select or not self._recall(+1):
            super().action_cursor_down(select)

    def _recall(self, direction: int) -> bool:
        """Show an earlier or later prompt; False if the key should move the cursor instead."""
        index = self._recalled
        if index is not None and self.text != self._history[index]:
            index = None
        if index is None:
            if self.text or not self._history or direction > 0:
                return False
            index = len(self._history)
        index += direction
        if index >= len(self._history):
            self._recalled = None
            self.put("")
        else:
            self._recalled = max(index, 0)
            self.put(self._history[self._recalled])
        return True


def without_controls(text: str) -> str:
    """A paste with its line ends made ``\\n`` and every other control character but tab left out."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in lines if printable(character) == character)
