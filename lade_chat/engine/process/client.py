"""The screen's end of an engine: of one in a child process, or of the one that browser tabs share.

Nothing here ever blocks, and torch is never imported on this side.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

import msgspec

from lade_chat.child_processes import Child
from lade_chat.engine.sharing.address import Address
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import EngineLost, Event


class EngineConnection(ABC):
    """A connection to an engine, for one event loop.

    ``events()`` continues across ``restart()`` and ends after ``close()``. If the engine is lost it yields
    ``EngineLost`` once, and the connection is ready for ``restart()``.
    """

    def __init__(self) -> None:
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._closed = False

    @abstractmethod
    async def start(self) -> None:
        """Connect, unless connected; ``events()`` reports a failure."""

    @abstractmethod
    def send(self, command: Command) -> None:
        """Send a command without waiting; without an engine it is dropped."""

    async def events(self) -> AsyncIterator[Event]:
        """Events in order, from every engine that this connects to, until ``close()``."""
        while (event := await self._events.get()) is not None:
            yield event
        self._events.put_nowait(None)

    async def restart(self) -> None:
        """Disconnect and connect again; pending events are dropped."""
        self._reset()
        await self.start()

    def close(self) -> None:
        """Disconnect and return at once; a job in progress is lost. Idempotent."""
        self._reset()
        self._closed = True
        self._events.put_nowait(None)

    def _reset(self) -> None:
        self._disconnect()
        while not self._events.empty():
            self._events.get_nowait()

    @abstractmethod
    def _disconnect(self) -> None:
        """Disconnect without waiting, if connected."""


class EngineClient(EngineConnection):
    """An engine in a child process; one thread writes commands, another reads events and reaps the process."""

    def __init__(self, engine: str | None = None) -> None:
        """``engine``: ``module:factory`` of another engine than the chat's."""
        super().__init__()
        self._arguments = [engine] if engine is not None else []
        self._child: Child | None = None
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()

    @property
    def pid(self) -> int | None:
        """The engine process, or None if there is none."""
        return self._child.pid if self._child is not None else None

    async def start(self) -> None:
        if self._child is not None or self._closed:
            return
        try:
            self._child = child = Child("lade_chat.engine.process.command_server:main", *self._arguments)
        except OSError as error:
            self._events.put_nowait(EngineLost(f"the engine process could not start: {error}"))
            return
        self._outgoing = SimpleQueue()
        deliver = partial(self._deliver_from_thread, asyncio.get_running_loop(), child)
        for work in (partial(_write, child, self._outgoing), partial(_read, child, deliver)):
            threading.Thread(target=work, daemon=True).start()

    def send(self, command: Command) -> None:
        if self._child is not None:
            self._outgoing.put(encode(command))

    def _disconnect(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            self._outgoing.put(None)

    def _deliver_from_thread(self, loop: asyncio.AbstractEventLoop, child: Child, event: Event) -> None:
        try:
            loop.call_soon_threadsafe(self._deliver, child, event)
        except RuntimeError:  # the loop is closed
            child.kill()

    def _deliver(self, child: Child, event: Event) -> None:
        if child is not self._child:
            return
        if isinstance(event, EngineLost):
            self._disconnect()
        self._events.put_nowait(event)


def _write(child: Child, outgoing: SimpleQueue[bytes | None]) -> None:
    while (line := outgoing.get()) is not None:
        child.send(line)


def _read(child: Child, deliver: Callable[[Event], None]) -> None:
    garbled = False
    for line in child.stdout:
        try:
            event = decode_event(line)
        except msgspec.MsgspecError:
            garbled = line.endswith(b"\n")  # else it was cut off by the process's death
            break
        deliver(event)
    if garbled:
        child.kill()
    how = child.ended()
    deliver(EngineLost(f"the engine process {'sent an invalid line' if garbled else how}"))


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
        with suppress(OSError, ValueError, msgspec.MsgspecError):
            while line := await reader.readline():
                self._events.put_nowait(decode_event(line))
        if self._writer is not None:
            self._writer.close()
        self._writer = None
        self._events.put_nowait(EngineLost(_GONE))
