"""What changes a running reply: lookahead, pause, single step, inspection, stop."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from lade_chat.protocol.commands import Command
from lade_chat.protocol.control import Inspect, Pause, Resume, SetLookahead, StepOnce, Stop
from lade_chat.tui.chat.view import ChatView, Phase, StatePublisher


class ReplyControls:
    """Each sends its command, and publishes the state that follows from it; none waits for the reply."""

    def __init__(self, view: ChatView, publisher: StatePublisher, send: Callable[[Command], None]) -> None:
        self._view = view
        self._publisher = publisher
        self._send = send

    def toggle_lookahead(self) -> None:
        """Switch lookahead, also during a reply."""
        if refusal := self._publisher.state.refusal_to_switch_lookahead():
            self._view.refuse(refusal)
            return
        enabled = not self._publisher.state.options.lookahead
        if self._publisher.state.phase in (Phase.READY, Phase.REPLYING):
            self._send(SetLookahead(enabled))
        self._publisher.change(options=msgspec.structs.replace(self._publisher.state.options, lookahead=enabled))

    def set_debug(self, enabled: bool) -> None:
        """Switch the inspection of replies, the running one included, and the measurement of the next."""
        if self._publisher.state.phase in (Phase.READY, Phase.REPLYING):
            self._send(Inspect(enabled))
        self._publisher.change(options=msgspec.structs.replace(self._publisher.state.options, debug=enabled))

    def pause(self, *, step: bool = False) -> None:
        """Pause or resume the reply; with ``step`` pause it, or have a paused one take a single step."""
        if self._publisher.state.phase is not Phase.REPLYING or self._publisher.state.stopping:
            self._view.refuse("There is no reply to pause just now.")
        elif step and self._publisher.state.paused:
            self._send(StepOnce())
        else:
            paused = not self._publisher.state.paused
            self._send(Pause() if paused else Resume())
            self._publisher.change(paused=paused)

    def stop(self) -> None:
        """End the reply, race or explanation within one step; the partial reply is kept."""
        if self._publisher.state.is_running and not self._publisher.state.stopping:
            self._send(Stop())
            self._publisher.change(stopping=True)
