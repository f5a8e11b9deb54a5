"""The conversation as the model will see it: an optional system message, then turns of user and assistant."""

from __future__ import annotations

from lade_chat.protocol import Message


class Conversation:
    """Messages in order. A user's message that got no answer can be withdrawn, so that roles always alternate."""

    def __init__(self, system: str | None = None) -> None:
        self._system = (Message("system", system),) if system else ()
        self._turns: list[Message] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        return (*self._system, *self._turns)

    @property
    def last_question(self) -> str | None:
        """The text of the last user message, or None in an empty conversation."""
        for message in reversed(self._turns):
            if message.role == "user":
                return message.content
        return None

    def ask(self, text: str) -> None:
        self._turns.append(Message("user", text))

    def answer(self, text: str) -> None:
        self._turns.append(Message("assistant", text))

    def withdraw(self) -> str | None:
        """Take back a last user message that has no answer; returns its text."""
        if self._turns and self._turns[-1].role == "user":
            return self._turns.pop().content
        return None

    def clear(self) -> None:
        """Forget all turns; the system message stays."""
        self._turns.clear()

    def with_question(self, text: str) -> tuple[Message, ...]:
        """The messages as they would be if ``text`` were asked now; the conversation itself stays as it is."""
        return (*self.messages, Message("user", text))

    def up_to_last_question(self) -> tuple[Message, ...]:
        """The messages up to and including the last user message: that question, asked again."""
        for index in range(len(self._turns) - 1, -1, -1):
            if self._turns[index].role == "user":
                return (*self._system, *self._turns[: index + 1])
        return self._system
