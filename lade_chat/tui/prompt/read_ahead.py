"""ReadAhead: while the model is idle, prefills the conversation and the draft below it."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.presentation.attachments import AttachmentError, attach
from lade_chat.protocol.commands import Command, Prefill
from lade_chat.protocol.values import DecodingOptions
from lade_chat.tui.control.view import Phase, StatePublisher
from lade_chat.tui.conversations.session import Asked, ConversationSession
from lade_chat.tui.prompt.completion import is_command, unescaped

PAUSE_SECONDS = 0.3
"""Pause in typing after which the draft is prefilled."""
MIN_CHARACTERS = 200
"""Minimum length of the text to prefill; shorter ones take little time with the question."""


class ReadAhead:
    """Requests the prefill of the conversation and the draft, once per state; any other command interrupts it."""

    def __init__(
        self,
        publisher: StatePublisher,
        session: ConversationSession,
        send: Callable[[Command], None],
        effective_options: Callable[[], DecodingOptions],
    ) -> None:
        self.enabled = True
        self._publisher = publisher
        self._session = session
        self._send = send
        self._effective_options = effective_options
        self._last: Prefill | None = None

    def read(self, typed: str) -> None:
        """Have the model read what is typed, with the files that it names and the conversation before it."""
        if not self.enabled or self._publisher.state.phase is not Phase.READY or self._publisher.state.model is None:
            return
        try:
            question = "" if is_command(typed) else attach(unescaped(typed))
        except AttachmentError:  # the file's name is not whole yet
            return
        command = Prefill(self._session.messages_for(Asked(question)), self._effective_options())
        if command != self._last and sum(len(each.content) for each in command.messages) >= MIN_CHARACTERS:
            self._last = command
            self._send(command)
