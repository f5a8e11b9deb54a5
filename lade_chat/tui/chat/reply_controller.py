"""The reply that is being written: what came of it is shown, and kept with its question."""

from __future__ import annotations

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.store.values import Model
from lade_chat.tui.chat.view import ChatView
from lade_chat.tui.conversations.conversation_session import Asked, Talk
from lade_chat.tui.conversations.store_worker import Job
from lade_chat.tui.reply.text import ReplyText

LOST = "The engine was lost."


class Answering:
    """One reply at a time: ``begin``, then ``grow``, then ``finish`` or ``fail``."""

    def __init__(self, view: ChatView, talk: Talk) -> None:
        self.reply = ReplyText()
        self._view = view
        self._talk = talk
        self._asked: Asked | None = None
        self._leaf: int | None = None
        """Where the conversation was before."""

    def begin(self, asked: Asked, model: Model) -> None:
        self._asked = asked
        self._leaf = self._talk.leaf_before(asked)
        self.reply = ReplyText()
        self._view.reply_began()
        self._talk.ask(asked, model)

    def grow(self, tokens: Tokens) -> None:
        self.reply.append(tokens.pieces)
        self._talk.grow(tokens)
        self._view.reply_grew(tokens)

    def finish(self, finished: ReplyFinished, then: Job) -> None:
        """The reply ended; ``then`` is called when it is on disk, unless the engine is lost before."""
        self._view.reply_ended(finished)
        self._talk.finish(finished, self._kept(then))

    def fail(self, message: str, then: Job) -> None:
        """What was said stays the model's answer; a question without any answer goes back to the prompt."""
        if self.reply.text:
            self._view.reply_failed(message)
            self._talk.break_off(message, self._kept(then))
        else:
            self._give_back(message, self._still(then))

    def lose(self) -> None:
        """As ``fail``, where the reason is told elsewhere and nothing goes on by itself."""
        if self._asked is None:
            return
        if self.reply.text:
            self._view.reply_failed(None)
            self._talk.break_off(LOST, self._view.turn_kept)
        else:
            self._give_back(None, lambda: None)
        self._asked = None

    def _give_back(self, message: str | None, then: Job) -> None:
        asked = self._asked
        in_place = asked is not None and asked.instead_of is not None
        self._view.reply_failed(None if in_place else message)
        if asked is not None and asked.question is not None and not self._talk.is_repeated(asked):
            self._view.give_back(asked.question)

        def withdrawn() -> None:
            if in_place:  # what had to give way comes back
                self._view.conversation_opened()
                if message is not None:
                    self._view.failed(message)
            then()

        self._talk.withdraw(self._leaf, withdrawn)

    def _kept(self, then: Job) -> Job:
        def call() -> None:
            self._view.turn_kept()
            then()

        return self._still(call)

    def _still(self, then: Job) -> Job:
        """``then``, unless the reply has been lost in the meantime."""
        asked = self._asked

        def call() -> None:
            if asked is not None and self._asked is asked:
                self._asked = None
                then()

        return call
