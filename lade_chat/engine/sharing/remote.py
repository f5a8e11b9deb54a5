"""RemoteEngine: a tab's client of the shared engine, with the interface of ``EngineClient``."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from lade_chat.engine.process.client import EngineConnection
from lade_chat.engine.sharing.address import Address
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import EngineLost

CONNECT_SECONDS = 15.0
"""Time to keep trying: the server of the tabs restarts an engine that has died."""
_RETRY_SECONDS = 0.1
_MAX_EVENT_BYTES = 1 << 26
_GONE = "the engine that the tabs share is gone"


class RemoteEngine(EngineConnection):
    """A client of the shared engine; disconnecting ends its job within a step."""

    def __init__(self, address: Address) -> None:
        super().__init__()
        self._address = address
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
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
        if self._writer is not None:
            self._writer.write(encode(command))

    def _disconnect(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()
        self._writer = self._reading = None

    async def _read(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            while line := await reader.readline():
                self._events.put_nowait(decode_event(line))
        if self._writer is not None:
            self._writer.close()
        self._writer = None
        self._events.put_nowait(EngineLost(_GONE))
