"""The controller's part that receives a reply: it is shown, and stored with its question."""

from __future__ import annotations

from dataclasses import replace

from lade_chat.protocol.events import Event, Failed, Prefilling, ReplyFinished, ReplyStarted, Tokens
from lade_chat.store.values import Model
from lade_chat.tui.control.view import ChatView
from lade_chat.tui.conversations.session import Asked, ConversationSession
from lade_chat.tui.conversations.store_worker import Job
from lade_chat.tui.reply.text import ReplyText

LOST = "The engine was lost."
STOPS_AGAIN = "Nothing was added: the stop string came first again. /set lists it; /set stop alone removes your own."


class ReplyController:
    """One reply at a time: ``begin``, then its events, or ``lose``."""

    def __init__(self, view: ChatView, session: ConversationSession, show_conversation: Job) -> None:
        self._view = view
        self._session = session
        self._show_conversation = show_conversation
        self._text = ReplyText()
        self._asked: Asked | None = None
        self._model = Model("")
        self._returned: tuple[Asked, Model] | None = None
        """The question that was given back last, until the next message."""
        self._dropped = 0
        self._leaf: int | None = None
        """The leaf of the conversation before the question."""

    @property
    def text(self) -> str:
        """The reply so far."""
        return self._text.text

    def begin(self, asked: Asked, model: Model) -> None:
        self._asked, self._model = asked, model
        self._leaf = self._session.leaf_before(asked)
        self._text = ReplyText()
        self._view.reply_began()
        self._session.ask(asked, model)

    def handle(self, event: Event, then: Job) -> None:
        """Take in an event of the reply; ``then`` is called once its end is stored, unless the engine is lost."""
        match event:
            case ReplyStarted():
                self._report_dropped(event.dropped_messages)
                self._view.reading(event.reused_tokens, event.prompt_tokens)
            case Prefilling():
                self._view.reading(event.done, event.total)
            case Tokens():
                self._text.append(event.pieces)
                self._session.grow(event)
                self._view.reply_grew(event)
            case ReplyFinished(finish_reason="cancelled") if self._continues_nothing:
                self._give_back(None, self._unless_lost(then))
            case ReplyFinished():
                if event.finish_reason == "stop" and self._continues_nothing:
                    self._view.notice(STOPS_AGAIN)
                self._view.reply_ended(event)
                self._session.finish(event, self._unless_lost(self._report_kept, then))
            case Failed(message):
                self._fail(message, then)

    def forget_dropped(self) -> None:
        """Reset the report of dropped messages, since another conversation is open."""
        self._dropped = 0

    def _report_dropped(self, count: int) -> None:
        if count > self._dropped:
            messages = "message no longer fits" if count == 1 else f"{count} messages no longer fit"
            self._view.notice(f"The oldest {messages} and {'was' if count == 1 else 'were'} left out.")
        self._dropped = count

    def _fail(self, message: str, then: Job) -> None:
        """Keep a partial reply; without any, give the question back to the prompt."""
        if self.text:
            self._view.reply_failed(message)
            self._session.break_off(message, self._unless_lost(self._report_kept, then))
        else:
            self._give_back(message, self._unless_lost(then))

    @property
    def _continues_nothing(self) -> bool:
        """True for a continuation that has said nothing yet: if it ends here, the reply stays as it was."""
        return self._asked is not None and self._asked.question is None and not self.text

    def close(self, error: str = "") -> None:
        """End the reply with the chat, stopped or for ``error``: what it said is kept, and an unanswered question."""
        if self.text:
            self._session.break_off(error, lambda: None)
        elif self._continues_nothing:
            self._session.withdraw(self._leaf, lambda: None)

    def lose(self) -> None:
        """End the reply because the engine was lost; the reason is shown elsewhere, and no question follows."""
        if self._asked is None:
            return
        if self.text:
            self._view.reply_failed(None)
            self._session.break_off(LOST, self._report_kept)
        else:
            self._give_back(None, lambda: None)
        self._asked = None

    def _give_back(self, message: str | None, then: Job) -> None:
        asked = self._asked
        replaces = asked is not None and asked.instead_of is not None
        self._view.reply_failed(None if replaces else message)
        if asked is not None and asked.typed is not None and not self._session.is_repeated(asked):
            self._returned = replace(asked, turn=None), self._model
            self._view.give_back(asked.typed)

        def withdrawn() -> None:
            if replaces:  # what had been cut comes back
                self._show_conversation()
                if message is not None:
                    self._view.failed(message)
            then()

        self._session.withdraw(self._leaf, withdrawn)

    @property
    def has_returned(self) -> bool:
        """True while a question that was given back is nowhere but in the prompt."""
        return self._returned is not None

    def forget_returned(self) -> None:
        """Forget the question that was given back: its draft has become another message."""
        self._returned = None

    def keep_returned(self) -> None:
        """Store the question that was given back as an unanswered one: its draft is on no disk."""
        returned, self._returned = self._returned, None
        if returned is not None:
            self._session.ask(*returned)

    def _report_kept(self) -> None:
        if (ended := self._session.last_ended) is not None:
            self._view.turn_kept(self._session.shown([ended])[0], self._session.as_open())

    def _unless_lost(self, *calls: Job) -> Job:
        """Return a job that makes the calls, unless the reply has been lost in the meantime."""
        asked = self._asked

        def job() -> None:
            if asked is not None and self._asked is asked:
                self._asked = None
                for call in calls:
                    call()

        return job
