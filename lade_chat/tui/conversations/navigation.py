"""How the chat goes from one conversation, or one branch of it, to another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Statistics
from lade_chat.store.conversation import Conversation
from lade_chat.tui.app.key_names import KeyNames
from lade_chat.tui.chat.loads import Loads
from lade_chat.tui.chat.phase import Phase, no_changing
from lade_chat.tui.chat.sampling import Drawing
from lade_chat.tui.chat.view import ChatView
from lade_chat.tui.conversations.conversation_session import Asked, Talk
from lade_chat.tui.conversations.store_worker import Job


class ConversationMoves:
    """The part of ``Chat`` that nothing is asked in."""

    view: ChatView
    phase: Phase
    conversation: Talk
    _queue: deque[Asked]
    _drawing: Drawing
    _dropped: int
    _loads: Loads
    _offer_waits = False
    """True after a conversation was opened before there was a model."""

    def _after_this(self, call: Job) -> None:
        raise NotImplementedError

    def load(self, options: ModelOptions | None = None) -> None:
        raise NotImplementedError

    def _wished(self) -> DecodingOptions:
        raise NotImplementedError

    def new_conversation(self, then: Job | None = None) -> None:
        """Begin anew, and then do ``then``; the conversation so far stays in the list. Ends a running reply first."""
        if self.phase is Phase.REPLYING:
            self._after_this(lambda: self.new_conversation(then))
            return
        waiting = self._waiting()
        self._offer_waits = False
        self.conversation.begin()
        self._turn_to(None)
        self.view.cleared()
        self.view.give_back(waiting)
        if then is not None:
            then()

    def open(self, conversation: Conversation) -> None:
        """Go on with another conversation. Ends a running reply first."""
        if self.phase is Phase.REPLYING:
            self._after_this(lambda: self.open(conversation))
            return
        waiting = self._waiting()
        self.conversation.adopt(conversation)
        self._turn_to(self.conversation.last_statistics)
        self.view.conversation_opened()
        self.view.give_back(waiting)
        self._offer_its_model()

    def reopen(self) -> None:
        """Open the model that the conversation was held with."""
        held = self.conversation.current.about.model
        if held is None or not held.name:
            self.view.hint("Nothing was answered in this conversation yet: there is no model to go back to.")
        elif held.is_same(self._loads.kept):
            self.view.hint(f"{printable(held.name)} is loaded already.")
        else:
            self.load(msgspec.structs.replace(self._loads.options, path=held.path))

    def _offer_its_model(self) -> None:
        """Where the conversation was held with another model than the present one, say so, and what opens it."""
        held, present = self.conversation.current.about.model, self._loads.model
        self._offer_waits = present is None
        if present is None or held is None or not held.name or held.is_same(self._loads.kept):
            return
        name = printable(held.name)
        answers = f"{printable(present.name)} answers from here on" if present.name != held.name else "another answers"
        self.view.notice(f"This conversation was held with {name}; {answers}. /reopen opens {name} again.")

    def _waiting(self) -> str:
        """What was said and not asked yet, such as while a conversation was being looked up; it waits no longer."""
        said = "\n".join(asked.question for asked in self._queue if asked.question is not None)
        for asked in reversed(self._queue):
            self.conversation.take_back(asked)
        self._queue.clear()
        return said

    def branch(self, turn: int | None) -> None:
        """Have the next question follow this turn, or none at all; what follows it now stays as an alternative."""
        self._move(lambda then: self.conversation.branch(turn, then))

    def switch(self, turn: int, direction: int) -> None:
        """Go to the alternative of a turn before (-1) or after (1) it."""
        self._move(lambda then: self.conversation.switch(turn, direction, then))

    def _move(self, move: Callable[[Job], None]) -> None:
        refusal = self._no_changing()
        if refusal and self.phase is not Phase.UNLOADED:
            self.view.refuse(refusal)
        else:
            move(self.view.conversation_opened)

    @property
    def _keys(self) -> KeyNames:
        return self.view.key_names

    def _no_changing(self) -> str:
        return no_changing(self.phase, self._keys)

    def _turn_to(self, last: Statistics | None) -> None:
        self._dropped = 0
        self._drawing.begin(last)
        if self._drawing.set(self._wished().sampling):
            self.view.sampling_changed()
