"""RemoteEngine: a tab's client of the shared engine, with the interface of ``EngineClient``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec

from lade_chat.engine.sharing.address import Address
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import EngineLost, Event

CONNECT_SECONDS = 15.0
"""Time to keep trying: the server of the tabs restarts an engine that has died."""
_RETRY_SECONDS = 0.1
_MAX_EVENT_BYTES = 1 << 26
_GONE = "the engine that the tabs share is gone"


class RemoteEngine:
    """A client for one event loop. ``events()`` continues across ``restart()`` and ends after ``close()``."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self) -> None:
        """Connect; ``events()`` reports a failure."""
        if self._writer is not None or self._closed:
            return
        deadline = asyncio.get_running_loop().time() + CONNECT_SECONDS
        while True:
            try:
                reader, self._writer = await self._address.connect(_MAX_EVENT_BYTES)
                break
            except OSError:
                if asyncio.get_running_loop().time() > deadline:
                    self._events.put_nowait(EngineLost(_GONE))
                    return
                await asyncio.sleep(_RETRY_SECONDS)
        self._reading = asyncio.create_task(self._read(reader))

    def send(self, command: Command) -> None:
        """Send a command without waiting; without a connection it is dropped."""
        if self._writer is not None:
            self._writer.write(encode(command))

    async def events(self) -> AsyncIterator[Event]:
        """Events in order, from every connection, until ``close()``."""
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)

    async def restart(self) -> None:
        """Reconnect; pending events of the old connection are dropped."""
        self._disconnect()
        await self.start()

    def close(self) -> None:
        """Disconnect; a job in progress ends within a step. Idempotent."""
        self._disconnect()
        self._closed = True
        self._events.put_nowait(None)

    def _disconnect(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()
        self._writer = self._reading = None
        while not self._events.empty():
            self._events.get_nowait()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            while line := await reader.readline():
                self._events.put_nowait(decode_event(line))
        if self._writer is not None:
            self._writer.close()
        self._writer = None
        self._events.put_nowait(EngineLost(_GONE))
