"""The engine of pictures: the chat's own, or one that is named; what comes from it can be waited for."""

from __future__ import annotations

from time import monotonic

from textual.pilot import Pilot

from lade_chat.engine.process.client import EngineClient
from lade_chat.errors import LadeChatError
from lade_chat.protocol.events import EngineLost, Event, Failed, LoadFailed

PATIENCE = 300.0
"""Seconds that any one thing may take; the bundled model needs a few."""


class Watched(EngineClient):
    """An engine in a process of its own, with a note of what has come from it."""

    def __init__(self, engine: str | None = None) -> None:
        super().__init__(engine)
        self.seen: list[Event] = []

    def _deliver(self, process: object, event: Event) -> None:
        super()._deliver(process, event)  # type: ignore[arg-type]
        self.seen.append(event)

    async def until(self, pilot: Pilot[None], kind: type[Event], times: int = 1) -> None:
        """Wait until that many events of a kind have come, and are on the screen."""
        deadline = monotonic() + PATIENCE
        while sum(isinstance(event, kind) for event in self.seen) < times:
            complain(self.seen)
            if monotonic() > deadline:
                raise LadeChatError(f"No picture: {kind.__name__} did not come within {PATIENCE:.0f} s.")
            await pilot.pause(0.05)
        await pilot.pause(0.5)


def complain(events: list[Event]) -> None:
    """Raises LadeChatError if an event says that nothing more will come."""
    for event in events:
        if isinstance(event, Failed | LoadFailed | EngineLost):
            raise LadeChatError(f"No picture: {event.message}")
