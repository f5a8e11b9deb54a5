"""The controller's part that explains the method, on steps taken for it or on those of the last race."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command, Explain
from lade_chat.protocol.values import Message
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher


class Explanations:
    """Starts an explanation, or says why there is none."""

    def __init__(self, view: ChatView, publisher: StatePublisher, send: Callable[[Command], None]) -> None:
        self._view = view
        self._publisher = publisher
        self._send = send

    def begin(self, messages: tuple[Message, ...], *, raced: bool = False) -> None:
        """Explain the answer to ``messages``: the steps of the race over them if ``raced``, else new ones."""
        state = self._publisher.state
        if (refusal := state.refusal_to_explain()) or state.model is None:
            self._view.refuse(refusal)
            return
        self._publisher.change(phase=Phase.EXPLAINING)
        self._send(Explain(messages, raced))
        self._view.explain_began(state.model)
