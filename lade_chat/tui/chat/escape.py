"""The Esc key on the chat screen: it closes what is open first, then takes a message back, then stops the reply."""

from __future__ import annotations

import time

from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.controller import Chat
from lade_chat.tui.prompt.completion_list import CompletionList

TWICE_SECONDS = 1.0
"""Within so long a key counts as pressed twice in a row."""
DRAFT_FIRST = "A message waits. {stop} takes it back once the prompt is empty; {stop} twice stops everything."


class EscapeKey:
    """Handles Esc. A waiting message returns to the prompt only if that is empty and nothing is open above it."""

    def __init__(self, ui: ChatWidgets, chat: Chat) -> None:
        self._ui, self._chat = ui, chat
        self._pressed = self._closed = -TWICE_SECONDS

    def press(self) -> None:
        """Close what is open, else take a message back, else stop the reply; a double press stops everything."""
        now = time.monotonic()
        if self._close():
            self.closed()
            return
        before, self._pressed = self._pressed, now
        waiting = self._chat.has_waiting
        if now - before < TWICE_SECONDS:
            self._chat.stop_all()
        elif waiting and self._ui.prompt.text:
            holds = lambda: self._chat.has_waiting and bool(self._ui.prompt.text)  # noqa: E731
            self._ui.status.hint(self._ui.key_names.put_into(DRAFT_FIRST), holds)
        elif waiting and now - self._closed < TWICE_SECONDS:  # pressed once too often to close something
            self._pressed = before
        elif self._chat.questions.take_back() is None:
            self._chat.controls.stop()

    def closed(self) -> None:
        """Reset the double press, since Esc has just closed something."""
        self._closed, self._pressed = time.monotonic(), -TWICE_SECONDS

    def _close(self) -> bool:
        """Close or leave what stands between the key and the reply; False if nothing does."""
        screen, prompt = self._ui.screen, self._ui.prompt
        if screen.query_one(CompletionList).close():
            return True
        if screen.selections:
            screen.clear_selection()
            return True
        if prompt.has_focus and prompt.editing is not None:
            prompt.clear_all()
            return True
        had_focus = prompt.has_focus
        prompt.focus()
        return not had_focus and self._chat.has_waiting
