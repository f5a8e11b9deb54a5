"""The screen's end of the engine process: start it, send commands, receive events, end it at once.

Two threads stand between the pipes and the event loop, so nothing here ever blocks: one writes commands, the other
reads events and reaps the process. torch is never imported on this side.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from queue import SimpleQueue
from typing import IO

import msgspec

from lade_chat.engine.process.ending import ending
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import EngineLost, Event

_BOOT = "import sys; sys.path[:] = {path!r}; from lade_chat.engine.process.server import main; main()"
"""Unlike ``-m``: the same sys.path as here, without the working directory."""


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
    """An engine in a child process."""

    def __init__(self, engine: str | None = None) -> None:
        """``engine``: ``module:factory`` of another engine than the chat's."""
        super().__init__()
        self._arguments = ["--engine", engine] if engine is not None else []
        self._process: _Process | None = None

    @property
    def pid(self) -> int | None:
        """The engine process, or None if there is none."""
        return self._process.pid if self._process is not None else None

    async def start(self) -> None:
        if self._process is not None or self._closed:
            return
        loop = asyncio.get_running_loop()
        try:
            self._process = _Process(self._arguments, _deliverer(loop, self._deliver))
        except OSError as error:
            self._events.put_nowait(EngineLost(f"the engine process could not start: {error}"))

    def send(self, command: Command) -> None:
        if self._process is not None:
            self._process.send(command)

    def _disconnect(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()

    def _deliver(self, process: _Process, event: Event) -> None:
        if process is not self._process:
            return
        if isinstance(event, EngineLost):
            self._process = None
        self._events.put_nowait(event)


class _Process:
    """One child process with its two pipes; ``deliver`` is called in the reader's thread."""

    def __init__(self, arguments: list[str], deliver: Callable[[_Process, Event], None]) -> None:
        self._deliver = deliver
        self._log = _log()
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._child = subprocess.Popen(
            [sys.executable, "-c", _BOOT.format(path=sys.path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=_working_folder(),
        )
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, command: Command) -> None:
        self._outgoing.put(encode(command))

    def kill(self) -> None:
        """Send SIGKILL; the reading thread reaps the process."""
        self._child.kill()
        self._outgoing.put(None)

    def _write(self) -> None:
        commands = self._child.stdin
        assert commands is not None
        with contextlib.suppress(OSError), commands:  # the reading thread reports a process that is gone
            while (line := self._outgoing.get()) is not None:
                commands.write(line)
                commands.flush()

    def _read(self) -> None:
        events = self._child.stdout
        assert events is not None
        garbled = False
        with events:
            for line in events:
                try:
                    event = decode_event(line)
                except msgspec.MsgspecError:
                    garbled = line.endswith(b"\n")  # else it was cut off by the process's death
                    break
                self._deliver(self, event)
        if garbled:
            self._child.kill()
        code = self._child.wait()
        self._outgoing.put(None)
        how = "sent an invalid line" if garbled else ending(code, self._log)
        self._deliver(self, EngineLost(f"the engine process {how}"))
        self._log.close()


def _working_folder() -> str | None:
    """The folder to start the process in: None for this one's, unless that was removed, where torch does not start."""
    try:
        os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)
    return None


def _log() -> IO[bytes]:
    """A file for what the process writes on stderr, closed by its reader. Raises OSError where no disk has room."""
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise OSError(f"{error.strerror or error}: make room there, or set TMPDIR") from None


def _deliverer(
    loop: asyncio.AbstractEventLoop, deliver: Callable[[_Process, Event], None]
) -> Callable[[_Process, Event], None]:
    """A thread-safe ``deliver``; a process whose event loop is closed is killed."""

    def deliver_from_thread(process: _Process, event: Event) -> None:
        try:
            loop.call_soon_threadsafe(deliver, process, event)
        except RuntimeError:  # the loop is closed
            process.kill()

    return deliver_from_thread
