"""A tab's end of the socket to the engine that it shares with others: what ``EngineClient`` is to a process."""

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
"""How long an engine that is not there is tried for: whoever serves the tabs is about to start it again."""
_PAUSE_SECONDS = 0.1
_LONGEST_EVENT = 1 << 26
_GONE = "the engine that the tabs share is gone"


class RemoteEngine:
    """For one event loop. ``events()`` goes on across ``restart()``; it ends after ``close()``."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    async def start(self) -> None:
        """Connect; if that cannot be done, ``events()`` says so."""
        if self._writer is not None or self._closed:
            return
        deadline = asyncio.get_running_loop().time() + CONNECT_SECONDS
        while True:
            try:
                reader, self._writer = await self._address.connect(_LONGEST_EVENT)
                break
            except OSError:
                if asyncio.get_running_loop().time() > deadline:
                    self._events.put_nowait(EngineLost(_GONE))
                    return
                await asyncio.sleep(_PAUSE_SECONDS)
        self._reading = asyncio.create_task(self._read(reader))

    def send(self, command: Command) -> None:
        """Send a command without waiting; without a connection it is dropped."""
        if self._writer is not None:
            self._writer.write(encode(command))

    async def events(self) -> AsyncIterator[Event]:
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)

    async def restart(self) -> None:
        """Connect anew; nothing more is heard through the old connection."""
        self._disconnect()
        await self.start()

    def close(self) -> None:
        """Let the connection go; what was asked through it ends within a step. More than once is harmless."""
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
