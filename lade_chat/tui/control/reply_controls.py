"""Controls of a running reply: lookahead, pause, single step, pace, inspection, stop."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from lade_chat.protocol.commands import Command
from lade_chat.protocol.control import Inspect, Pause, Resume, SetLookahead, StepOnce, Stop
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher

PACES: tuple[float | None, ...] = (1, 2, 4, 8, None)
"""Steps a second in slow motion; None for full speed."""
PACE_KEY_SECONDS = 1.0
"""For so long after slow motion, and after the last of them, the keys that change the pace are not typed."""

STARTS_PAUSED, STARTS_AT_ONCE = "The next reply starts paused.", "The next reply starts at once."


class ReplyControls:
    """Controls of a running reply: each sends its command and publishes the new state without waiting for the reply."""

    def __init__(self, view: ChatView, publisher: StatePublisher, send: Callable[[Command], None]) -> None:
        self._view = view
        self._publisher = publisher
        self._send = send
        self._paced = -PACE_KEY_SECONDS
        """When a key last changed the pace, or a reply in slow motion ended."""

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
            self._send(Inspect(enabled or self._publisher.state.is_slow))
        self._publisher.change(options=msgspec.structs.replace(self._publisher.state.options, debug=enabled))

    def pause(self, *, step: bool = False) -> None:
        """Pause or resume the reply; with ``step`` pause it, or have a paused one take a single step.

        While the chat is ready, or its model is being loaded, the next reply starts paused.
        """
        state = self._publisher.state
        if state.phase not in (Phase.READY, Phase.REPLYING, Phase.LOADING) or state.stopping:
            self._view.refuse("There is no reply to pause just now.")
        elif step and state.paused and state.phase is Phase.REPLYING:
            self.step()
        else:
            self._slow_down(paused=not state.paused, pace=state.pace)
            if state.phase is Phase.LOADING:  # else the state shows it
                text = STARTS_AT_ONCE if state.paused else STARTS_PAUSED
                self._view.hint(text, lambda: self._publisher.state.phase is Phase.LOADING)

    def hold(self) -> None:
        """Have a running reply wait, without a word, until ``release``."""
        if self._runs_freely:
            self._send(Pause())

    def release(self) -> None:
        """Have a reply that was held go on."""
        if self._runs_freely:
            self._send(Resume())

    @property
    def _runs_freely(self) -> bool:
        return self._publisher.state.phase is Phase.REPLYING and not self._publisher.state.is_slow

    def step(self) -> None:
        """Have a reply in slow motion take its next step."""
        self._send(StepOnce())

    @property
    def takes_pace_keys(self) -> bool:
        """True during a slow reply, and for a moment after it: one press too many is no text."""
        return self._publisher.state.has_pace or time.monotonic() - self._paced < PACE_KEY_SECONDS

    @property
    def takes_slower_key(self) -> bool:
        """True where ``takes_pace_keys`` is, but for a paused reply: nothing is slower than that, and the key types."""
        state = self._publisher.state
        return self.takes_pace_keys and not (state.has_pace and state.paused)

    def change_pace(self, direction: int) -> None:
        """Run the reply faster or slower; faster has a paused one go on at the pace it had, or the slowest."""
        state, self._paced = self._publisher.state, time.monotonic()
        if not state.has_pace or state.stopping or (state.paused and direction < 0):
            return
        place = PACES.index(state.pace) + direction
        pace = PACES[min(max(place, 0), len(PACES) - 1)] if not state.paused else state.pace or PACES[0]
        self._slow_down(paused=False, pace=pace)

    def become_ready(self) -> None:
        """Publish that the chat is ready, at full speed; a pause asked for while the model was loaded is still to come.

        The engine may have been started since, and knows nothing of it yet.
        """
        loaded = self._publisher.state.phase is Phase.LOADING
        self._publisher.change(phase=Phase.READY, stopping=False)
        if not loaded:
            self._end_slow_motion()
        elif self._publisher.state.is_slow and not self._publisher.state.options.debug:
            self._send(Inspect(True))

    def _end_slow_motion(self) -> None:
        """Publish full speed, which the next reply runs at."""
        if self._publisher.state.is_slow:
            self._paced = time.monotonic()
        self._slow_down(paused=False, pace=None)

    def _slow_down(self, *, paused: bool, pace: float | None) -> None:
        """Have the engine wait before each step, with details of every step, or wait no longer."""
        state, slow = self._publisher.state, paused or pace is not None
        if slow is not state.is_slow:
            if not state.options.debug:
                self._send(Inspect(slow))
            if state.phase is Phase.REPLYING:
                self._send(Pause() if slow else Resume())
        self._publisher.change(paused=paused, pace=pace)

    def stop(self) -> None:
        """End the reply, race or explanation within one step, or a download; the partial reply is kept."""
        if self._publisher.state.phase is Phase.LOADING:
            self._send(Stop())  # nothing but a download obeys
        elif self._publisher.state.is_running and not self._publisher.state.stopping:
            self._send(Stop())
            self._publisher.change(stopping=True)
