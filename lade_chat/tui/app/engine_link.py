"""What the screen needs of an engine: commands go in, events come out, and closing it takes no time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event


class Engine(Protocol):
    """An engine in another process, or a scripted one in a test."""

    async def start(self) -> None:
        """Start the engine; returns once commands can be sent."""

    def send(self, command: Command) -> None:
        """Send a command without waiting for it."""

    def events(self) -> AsyncIterator[Event]:
        """Everything the engine tells, EngineLost included; ends when the engine is closed."""

    async def restart(self) -> None:
        """A fresh engine in place of one that was lost; the model has to be loaded again."""

    def close(self) -> None:
        """End the engine at once, whatever it is doing."""
