"""The controller's part that explains the method, on steps taken for it or on those of the last race."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command, Explain
from lade_chat.protocol.values import Message
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher
from lade_chat.tui.control.when_free import WhenFree

OPENS = {
    Phase.REPLYING: "How it works opens when this reply has ended.",
    Phase.LOADING: "How it works opens once the model is loaded.",
}
WAITED = "Type /explain now to see how it works: the model is free."


class Explanations:
    """Starts an explanation, now or once the model is free, or says why there is none."""

    def __init__(
        self, view: ChatView, publisher: StatePublisher, send: Callable[[Command], None], when_free: WhenFree
    ) -> None:
        self._view = view
        self._publisher = publisher
        self._send = send
        self._when_free = when_free

    def begin(self, messages: tuple[Message, ...], *, raced: bool = False) -> None:
        """Explain the answer to ``messages``: the steps of the race over them if ``raced``, else new ones."""
        state = self._publisher.state
        if refusal := state.refusal_to_explain():
            self._view.refuse(refusal)
        elif state.phase in OPENS:
            self._when_free.wait(lambda: self.begin(messages), OPENS[state.phase], WAITED)
        elif state.model is not None:
            self._publisher.change(phase=Phase.EXPLAINING)
            self._send(Explain(messages, raced))
            self._view.explain_began(state.model)
