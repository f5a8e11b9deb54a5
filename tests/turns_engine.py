"""An engine that tells which conversation's cache is in it, for tests of the tabs that share one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from lade_chat.engine.job import Job
from lade_chat.engine.process.command_server import CommandServer, JobEngine
from lade_chat.protocol.commands import Command, Compare, Load, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelInfo, ModelOptions, Piece, Statistics

LOAD = Load(ModelOptions())
PATIENCE = 20.0
ENDINGS = (Loaded, LoadFailed, ReplyFinished, Failed)
"""The last event of a job."""


def ask(text: str) -> Reply:
    return Reply((Message("user", text),), DecodingOptions(max_new_tokens=16))


class TurnsEngine:
    """Tells which conversation's cache is in it; goes on until it is let go where a question says ``wait``."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.go = threading.Event()
        self.entered = threading.Event()
        self.lookahead: bool | None = None
        """As the last reply ended."""
        self._made = 0
        self._cache = self._new()

    def _new(self) -> str:
        self._made += 1
        return f"cache {self._made}"

    def exchange(self, cached: Any) -> Any:
        before, self._cache = self._cache, cached or self._new()
        return before

    def handle(self, job: Job) -> Iterator[Event]:
        command = job.command
        if isinstance(command, Load):
            name = command.options.path or "bundled"
            yield LoadFailed("no such model", kept=True) if name == "wrong" else Loaded(info(name))
            return
        assert isinstance(command, Reply | Compare)
        question = command.messages[-1].content
        self.log.append(question)
        if question == "breaks":
            raise RuntimeError("it broke")
        yield ReplyStarted(1)
        self.entered.set()
        while question.startswith("wait") and not self.go.is_set() and not job.stopped:
            time.sleep(0.002)
        yield Tokens((Piece(self._cache, "plain", 1, 0),), Statistics())
        self.lookahead = job.lookahead
        yield ReplyFinished("cancelled" if job.stopped else "eos", Statistics())


def info(name: str) -> ModelInfo:
    return ModelInfo(name, "cpu", "float32", 1, 64, lookahead_supported=True)


class Tab:
    """A client of a server, and the events that came."""

    def __init__(self, server: CommandServer) -> None:
        self.events: list[Event] = []
        self._server, self._client = server, server.open(self.events.append)

    @property
    def job(self) -> Job:
        """The job that is running, else the first that waits."""
        return self._client.running or self._client.waiting[0]

    def send(self, *commands: Command) -> None:
        for command in commands:
            self._server.take(self._client, command)

    def wait(self, begin: int = 0) -> list[Event]:
        """Wait for the end of a job; returns the events from ``begin`` on."""
        wait_for(lambda: any(isinstance(event, ENDINGS) for event in self.events[begin:]))
        return self.events[begin:]

    def close(self) -> None:
        self._server.close(self._client)


def answers(tab: Tab, command: Load | Reply) -> list[Event]:
    begin = len(tab.events)
    tab.send(command)
    return tab.wait(begin)


def cache_of(tab: Tab, text: str = "hello") -> str:
    """Which cache a reply was decoded with."""
    return next(event.pieces[0].text for event in answers(tab, ask(text)) if isinstance(event, Tokens))


def served(engine: JobEngine) -> CommandServer:
    """An engine for tabs to share, served by a thread."""
    server = CommandServer(lambda: engine)
    threading.Thread(target=server.serve, daemon=True).start()
    return server


def wait_for(predicate: Callable[[], object], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not predicate():
        assert time.monotonic() < deadline, f"not after {seconds} seconds"
        time.sleep(0.002)
