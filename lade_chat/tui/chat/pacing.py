"""Pacing: a reply that is paused, stepped and resumed by key, as the screen knows it."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command
from lade_chat.protocol.control import Pause, Resume, StepOnce


class Pacing:
    """Sends what is wished of the running reply, and remembers whether it is paused."""

    def __init__(self, send: Callable[[Command], None]) -> None:
        self._send = send
        self.paused = False

    def toggle(self) -> None:
        """Pause the reply, or have it go on."""
        self.paused = not self.paused
        self._send(Pause() if self.paused else Resume())

    def step(self) -> None:
        """Have a paused reply take one step; one that runs is paused first."""
        if self.paused:
            self._send(StepOnce())
        else:
            self.toggle()

    def reset(self) -> None:
        """A reply has begun, or ended: the next one runs."""
        self.paused = False
