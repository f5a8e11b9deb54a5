"""Questions that wait for the model, or for the reply before them."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from lade_chat.tui.conversations.session import Asked, ConversationSession

MESSAGE_FIRST = "A message waits already: {restart} starts the engine, which answers that first."
LOADING_FIRST = "Something waits for the model already, and comes first: try again once it is answered."
MESSAGE_WAITS = "One moment: a message is about to be asked."


class QuestionQueue:
    """A FIFO queue of questions. Stored questions are deleted from the store when they are taken back."""

    def __init__(self, session: ConversationSession) -> None:
        self._session = session
        self._waiting: deque[Asked] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, asked: Asked, *, stored: bool) -> None:
        """Add a question; with ``stored`` one that waits is on disk meanwhile."""
        self._waiting.append(asked)
        if stored:
            self.store()

    def store(self) -> None:
        """Store the waiting messages; a retry or continuation has no turn before it is asked."""
        for place, asked in enumerate(self._waiting):
            if asked.question is not None and asked.is_message and asked.turn is None:
                self._waiting[place] = self._session.enqueue(asked.question, asked.draft)

    def clear_way(self) -> bool:
        """Delete stored messages that a retry or continuation is to be asked before; True if there were any.

        Ask it once they are deleted, then ``store`` them: they follow its turn.
        """
        if not self._waiting or self._waiting[0].is_message:
            return False
        stored = [asked for asked in self._waiting if asked.turn is not None]
        for asked in reversed(stored):
            self._session.take_back(asked)
        self._waiting = deque(replace(asked, turn=None) for asked in self._waiting)
        return bool(stored)

    def store_all(self) -> None:
        """Drop retries and continuations that wait, and store all else: nothing more is answered."""
        self._waiting = deque(each for each in self._waiting if each.is_message)
        self.store()

    def refusal_to_overtake(self, *, lost: bool, loading: bool) -> str:
        """Return why a retry or a continuation cannot be asked now: questions wait. Empty if none does.

        The last turn is then one that waits, and ``clear_way`` may delete it. ``lost``: there is no engine.
        ``loading``: its model is being loaded.
        """
        if not self._waiting:
            return ""
        if loading:
            return LOADING_FIRST
        return MESSAGE_FIRST if lost else MESSAGE_WAITS

    def next(self) -> Asked:
        """Take the oldest. Raises IndexError if none waits."""
        return self._waiting.popleft()

    def take_back(self) -> Asked | None:
        """Take back the newest; None if none waits."""
        if not self._waiting:
            return None
        asked = self._waiting.pop()
        self._session.take_back(asked)
        return asked

    def withdraw(self) -> str:
        """Take all back; return what was typed, a question a line."""
        typed = (asked.typed for asked in self._waiting if not self._session.is_repeated(asked))
        text = "\n".join(each for each in typed if each is not None)
        for asked in reversed(self._waiting):
            self._session.take_back(asked)
        self._waiting.clear()
        return text

    @property
    def questions(self) -> tuple[str | None, ...]:
        """The waiting questions; None stands for a reply to continue."""
        return tuple(asked.question for asked in self._waiting)

    @property
    def turns(self) -> set[int | None]:
        """The stored turns of the waiting questions."""
        return {asked.turn for asked in self._waiting}
