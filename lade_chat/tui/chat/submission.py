"""Submission: sends the prompt's command, or question with its files; what is refused stays to be corrected."""

from __future__ import annotations

from lade_chat.presentation.attachments import AttachmentError, attach
from lade_chat.tui.chat.actions import ChatActions
from lade_chat.tui.chat.command_line import run
from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.controller import Chat
from lade_chat.tui.prompt.completion import is_command, unescaped
from lade_chat.tui.widgets.status_bar import REFUSAL_SECONDS

CLEARS = "Ctrl+C clears the prompt."


class Submission:
    """Sends what the prompt holds, or what is to be sent in its place."""

    def __init__(self, ui: ChatWidgets, chat: Chat, actions: ChatActions) -> None:
        self._ui, self._chat, self._actions = ui, chat, actions

    def send(self, text: str) -> None:
        """Run a command; ask anything else, with the files that it mentions."""
        prompt = self._ui.prompt
        if not text.strip():
            self._ui.status.hint("Nothing to send yet: type a message first.", lambda: not prompt.text.strip())
        elif is_command(text):
            self._run(text)
        else:
            self._ask(text)

    def send_example(self, text: str) -> None:
        """Send ``text``, and leave a draft in the prompt."""
        prompt = self._ui.prompt
        if not is_command(text):  # what a command opens leads back to the examples
            prompt.focus()
        draft = prompt.text
        self.send(text)
        if not prompt.text:
            prompt.put(draft)

    def race(self) -> None:
        """Race the draft, or else the last question."""
        try:
            self._actions.race()
        except AttachmentError as error:
            self._refuse(str(error))

    def _run(self, text: str) -> None:
        prompt = self._ui.prompt
        prompt.clear_all()
        if (problem := run(self._actions, text.lstrip())) is None:
            prompt.remember(text)
        else:
            prompt.put(text)
            self._refuse(problem)

    def _ask(self, text: str) -> None:
        prompt = self._ui.prompt
        try:
            question = attach(unescaped(text))
        except AttachmentError as error:
            self._refuse(str(error))
            return
        if self._chat.questions.submit(question, prompt.editing, draft=text):
            prompt.remember(text)
            prompt.clear_all()

    def _refuse(self, problem: str) -> None:
        """Leave what was refused in the prompt, the cursor at its end, and say why as long as it stands there."""
        prompt = self._ui.prompt
        draft = prompt.text
        prompt.move_cursor(prompt.document.end)
        self._ui.status.hint(f"{problem} {CLEARS}", lambda: prompt.text == draft, REFUSAL_SECONDS)
