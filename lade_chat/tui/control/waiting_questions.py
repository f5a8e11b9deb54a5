"""The questions that wait, as the user sees them: they can be taken back."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.tui.control.view import ChatView
from lade_chat.tui.conversations.question_queue import QuestionQueue
from lade_chat.tui.conversations.session import Asked, ConversationSession
from lade_chat.tui.conversations.store_worker import Job

NOT_CHANGED = "Taken back: the reply stays as it is."


class WaitingQuestions:
    """Takes waiting questions back, the newest first."""

    def __init__(
        self, view: ChatView, session: ConversationSession, queue: QuestionQueue, show_conversation: Job
    ) -> None:
        self._view, self._session, self._queue = view, session, queue
        self._show_conversation = show_conversation

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
            self._show_conversation()
            if not self._session.is_repeated(asked):
                self._view.give_back(text_of(asked))
        return asked
