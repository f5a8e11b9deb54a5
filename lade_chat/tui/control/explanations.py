"""The controller's part that explains the method, on steps taken for it or on those of the last race."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command, Explain
from lade_chat.protocol.values import Message
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher

OPENS = {
    Phase.REPLYING: "How it works opens when this reply has ended.",
    Phase.LOADING: "How it works opens once the model is loaded.",
}
WAITED = "Type /explain now to see how it works: the model is free."
"""Nothing is opened above what somebody is typing."""


class Explanations:
    """Starts an explanation, now or once the model is free, or says why there is none."""

    def __init__(self, view: ChatView, publisher: StatePublisher, send: Callable[[Command], None]) -> None:
        self._view = view
        self._publisher = publisher
        self._send = send
        self._waiting: tuple[Message, ...] | None = None

    def begin(self, messages: tuple[Message, ...], *, raced: bool = False) -> None:
        """Explain the answer to ``messages``: the steps of the race over them if ``raced``, else new ones."""
        state = self._publisher.state
        if refusal := state.refusal_to_explain():
            self._view.refuse(refusal)
        elif state.phase in OPENS:
            self._waiting = messages
            self._view.hint(OPENS[state.phase], lambda: self._waiting is not None)
        elif state.model is not None:
            self._publisher.change(phase=Phase.EXPLAINING)
            self._send(Explain(messages, raced))
            self._view.explain_began(state.model)

    def begin_waiting(self) -> None:
        """Begin the explanation that was waiting for the model, unless the user is typing."""
        if self._publisher.state.phase is not Phase.READY:
            return
        messages, self._waiting = self._waiting, None
        if messages is not None and self._view.is_free:
            self.begin(messages)
        elif messages is not None:
            self._view.hint(WAITED)

    def forget(self) -> None:
        """Drop a waiting explanation."""
        self._waiting = None
