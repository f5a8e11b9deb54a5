"""The controller's part that takes questions from the user, and gives back those that wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from lade_chat.tui.control.view import ChatView, Phase, StatePublisher
from lade_chat.tui.conversations.question_queue import QuestionQueue
from lade_chat.tui.conversations.session import Asked, ConversationSession

GOES_ON_LATER = "The reply goes on once the model is loaded."
NOT_CHANGED = "Taken back: the reply stays as it is."


class QuestionHost(Protocol):
    """The operations of ``Chat`` that questions need."""

    @property
    def can_ask(self) -> bool: ...

    @property
    def is_stopping(self) -> bool: ...

    def ask_next(self) -> None: ...

    def restart(self) -> None: ...

    def forget_returned(self) -> None: ...

    def show_conversation(self) -> None: ...


class Questions:
    """Queues messages, retries and continuations, or says why not; takes waiting ones back, the newest first."""

    def __init__(
        self,
        host: QuestionHost,
        view: ChatView,
        session: ConversationSession,
        publisher: StatePublisher,
        queue: QuestionQueue,
    ) -> None:
        self._host = host
        self._view = view
        self._session = session
        self._publisher = publisher
        self._queue = queue

    def submit(self, text: str, instead_of: int | None = None, *, draft: str | None = None) -> bool:
        """Ask ``text`` now, or once the model is ready. False if it was refused; the view shows why.

        Args:
            text: the question, with the text of its files.
            instead_of: a turn whose question this replaces; the turns from there on stay as an alternative.
            draft: what the prompt gets back if no answer comes; by default ``text``.
        """
        state = self._publisher.state
        refusal = state.refusal_to_ask() if instead_of is None else state.refusal_to_change()
        if self._host.is_stopping:
            refusal = "One moment: the reply is being stopped."
        elif not text.strip():
            refusal = "Nothing to send yet: type a message first."
        if refusal:
            self._view.refuse(refusal)
            return False
        self._host.forget_returned()
        self._take(Asked(text, instead_of, draft=draft))
        return True

    def retry(self, turn: int | None = None) -> None:
        """Ask the question of ``turn`` (by default the last) again; the present reply stays as an alternative."""
        self._ask_again(self._session.again(turn), "Nothing to ask again yet: type a message first.")

    def continue_reply(self) -> None:
        """Continue the last reply, as after the token limit."""
        last = self._session.current.last
        if last is not None and last.ending == "eos" and self._session.last_reply:
            self._view.refuse("The reply ended by itself: there is nothing to continue.")
            return
        self._ask_again(self._session.more(), "There is no reply to continue yet.")

    def _ask_again(self, asked: Asked | None, missing: str) -> None:
        lost, loading = self._phase is Phase.LOST, self._phase is Phase.LOADING
        refusal = "" if lost or loading else self._publisher.state.refusal_to_change()
        refusal = refusal or self._queue.refusal_to_overtake(lost=lost, loading=loading)
        if asked is None or refusal:
            self._view.refuse(missing if asked is None else refusal)
            return
        self._take(asked)
        if self._phase is Phase.LOADING and asked.question is None:  # nothing else shows that it waits
            self._view.hint(GOES_ON_LATER, lambda: self._phase is Phase.LOADING and bool(self._queue))

    def _take(self, asked: Asked) -> None:
        if asked.instead_of is not None:
            self._view.cut(asked.instead_of)
        self._queue.add(asked, stored=not self._host.can_ask)
        self._view.user_said(asked.question)
        self._host.ask_next()
        if self._phase is Phase.LOST:
            self._host.restart()

    def take_back(self) -> Asked | None:
        """Give the newest back to the prompt, or undo the retry or continuation that it is; None if none waits."""
        asked = self._take_back(lambda asked: asked.typed or "")
        if asked is not None and not asked.is_message:
            self._view.hint(NOT_CHANGED)
        return asked

    def drop_all(self) -> None:
        """Drop all; the prompt's history still has what was typed."""
        while self._take_back(lambda _: "") is not None:
            pass

    def _take_back(self, text_of: Callable[[Asked], str]) -> Asked | None:
        asked = self._queue.take_back()
        if asked is None:
            return None
        if asked.instead_of is None:
            self._view.taken_back(text_of(asked))
        else:  # what had been cut comes back
            self._host.show_conversation()
            if not self._session.is_repeated(asked):
                self._view.give_back(text_of(asked))
        return asked

    @property
    def _phase(self) -> Phase:
        return self._publisher.state.phase
