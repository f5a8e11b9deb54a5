"""The engine as the screen sees it: commands in, events out, closed at once."""

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
        """Yield every event, EngineLost included, until the engine is closed."""

    async def restart(self) -> None:
        """Replace a lost engine; the model has to be loaded again."""

    def close(self) -> None:
        """End the engine at once, even while it is busy."""
