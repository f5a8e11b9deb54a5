"""Navigation between conversations, and between branches of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.conversation import Conversation
from lade_chat.store.values import Model
from lade_chat.tui.control.model_loads import ModelLoads
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher
from lade_chat.tui.conversations.session import ConversationSession
from lade_chat.tui.conversations.store_worker import Job

WAITING_HERE = "A message waits for an answer in this branch. Up takes it back into an empty prompt."


class NavigationHost(Protocol):
    """The operations of ``Chat`` that navigation needs."""

    @property
    def has_waiting(self) -> bool: ...

    def stop_then(self, call: Job) -> None: ...

    def load(self, options: ModelOptions | None = None) -> None: ...

    def withdraw_waiting(self) -> str: ...

    def keep_returned(self) -> None: ...

    def conversation_changed(self) -> None: ...

    def show_conversation(self) -> None: ...


class ConversationNavigation:
    """Switches between conversations and branches, after ending a running reply."""

    def __init__(
        self,
        host: NavigationHost,
        view: ChatView,
        session: ConversationSession,
        publisher: StatePublisher,
        loads: ModelLoads,
    ) -> None:
        self._host = host
        self._view = view
        self._session = session
        self._publisher = publisher
        self._loads = loads
        self._offer_pending = False
        """True if a conversation was opened before there was a model."""
        self._offered = ""
        self._take_back: Job = lambda: None

    def new_conversation(self, then: Job | None = None) -> None:
        """Begin a new conversation, then call ``then``; the present one stays in the list."""
        if self._phase is Phase.REPLYING:
            self._host.stop_then(lambda: self.new_conversation(then))
            return
        waiting = self._host.withdraw_waiting()
        self._offer_pending = False
        self._host.keep_returned()
        self._session.begin()
        self._host.conversation_changed()
        self._view.cleared()
        self._view.give_back(waiting)
        if then is not None:
            then()

    def open(self, conversation: Conversation) -> None:
        """Continue another conversation."""
        if self._phase is Phase.REPLYING:
            self._host.stop_then(lambda: self.open(conversation))
            return
        waiting = self._host.withdraw_waiting()
        self._host.keep_returned()
        self._session.current = conversation
        self._host.conversation_changed()
        self._host.show_conversation()
        self._view.give_back(waiting)
        self._offer_its_model()

    def reopen_model(self) -> None:
        """Load the model that the conversation was held with."""
        held = self._session.current.about.model
        if held is None or not held.name:
            self._view.hint("Nothing was answered in this conversation yet: there is no model to go back to.")
        elif self._answers(held):
            self._view.hint(f"{printable(held.title)} is loaded already.")
        else:
            self._host.load(_reopening(held, self._loads.options))

    def model_requested(self) -> None:
        """Drop the pending offer to reopen the conversation's model, since the user has chosen one."""
        self._offer_pending = False

    def model_loaded(self) -> None:
        """Show the pending offer to reopen the conversation's model, or withdraw one that no longer applies."""
        if self._offer_pending:
            self._offer_its_model()
        elif self._offered != self._offer():
            self.withdraw_offer()

    def withdraw_offer(self) -> None:
        """Remove the offer to reopen the conversation's model."""
        self._take_back()
        self._offered, self._take_back = "", lambda: None

    def _offer_its_model(self) -> None:
        """Point out that another model held the conversation, and how to load that one."""
        self.withdraw_offer()
        self._offer_pending = self._loads.model is None
        if text := self._offer():
            self._offered, self._take_back = text, self._view.notice(text)

    def _offer(self) -> str:
        """Return the offer's text; empty if the conversation's model is loaded or unknown."""
        held, present = self._session.current.about.model, self._loads.stored
        if self._loads.model is None or held is None or not held.name or self._answers(held):
            return ""
        name, other = printable(held.title), printable(present.title)
        answers = f"{other} answers from here on" if other != name else "another answers"
        return f"This conversation was held with {name}; {answers}. /reopen opens {name} again."

    def _answers(self, held: Model) -> bool:
        """True if this model is the loaded one, with the same quantisation."""
        present = self._loads.stored
        return held.is_same(present) and held.quantisation == present.quantisation

    def branch(self, turn: int | None) -> None:
        """Have the next question follow this turn, or none; what follows it now stays as an alternative."""
        self._move(lambda then: self._session.branch(turn, then))

    def switch(self, turn: int, direction: int) -> None:
        """Go to the alternative of a turn before (-1) or after (1) it."""
        self._move(lambda then: self._session.switch(turn, direction, then))

    def _move(self, move: Callable[[Job], None]) -> None:
        refusal = "" if self._phase is Phase.UNLOADED else self._publisher.state.refusal_to_change()
        if not refusal and self._host.has_waiting:
            refusal = WAITING_HERE
        if refusal:
            self._view.refuse(refusal)
        else:
            move(self._host.show_conversation)

    @property
    def _phase(self) -> Phase:
        return self._publisher.state.phase


def _reopening(held: Model, options: ModelOptions) -> ModelOptions:
    """The options with which a conversation's model is loaded again, quantised as it was."""
    options = options.at(held.path)
    if held.quantisation == options.quantize:
        return options
    if held.quantisation is None:
        return msgspec.structs.replace(options, quantize=None)
    return msgspec.structs.replace(options, device=held.device, dtype=None, quantize=held.quantisation)
