"""The engine in a process of its own: commands as JSON lines on stdin, events as JSON lines on stdout.

A thread reads the commands. Stop, SetLookahead and those that pause or inspect a reply act at once, the first two
also on commands that wait; the others wait for the main thread, which answers them one after the other, in the order
in which they came.
The process ends at once, even in the middle of a forward pass, on Quit or when stdin ends: nothing of a
conversation lives here. torch is imported with the first Load, so the process is up in a moment.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol, TypeAlias

import msgspec

from lade_chat.errors import LadeChatError, is_out_of_memory, summary
from lade_chat.protocol.codec import decode_command, encode
from lade_chat.protocol.commands import Command, Explain, Load, Race, Reply
from lade_chat.protocol.control import Inspect, Pause, Quit, Resume, SetLookahead, StepOnce, Stop
from lade_chat.protocol.events import Event, Failed, LoadFailed, RaceFinished, ReplyFinished
from lade_chat.protocol.tutorial import ExplainFinished
from lade_chat.protocol.values import Statistics
from lade_chat.threads import wait_briefly

DEFAULT_ENGINE = "lade_chat.engine.chat_engine:ChatEngine"

Work: TypeAlias = Load | Reply | Race | Explain
"""The commands that take time, and are answered one after the other."""


class Engine(Protocol):
    """What answers commands. All but ``handle`` may come from any thread; the next step obeys.

    A ``stop`` or a ``pause`` holds for the command in hand alone: ``handle`` forgets one that came before it began.
    """

    def handle(self, command: Work) -> Iterator[Event]: ...

    def stop(self) -> None: ...

    def set_lookahead(self, enabled: bool) -> None: ...

    def pause(self) -> None: ...

    def step_once(self) -> None: ...

    def resume(self) -> None: ...

    def inspect(self, enabled: bool) -> None: ...


class _Job:
    """A command that waits or runs, and what was asked of it since it came."""

    def __init__(self, command: Work) -> None:
        self.command = command
        self.stopped = False
        self.lookahead: bool | None = None
        self.paused = False
        self.started = False

    @property
    def is_reply(self) -> bool:
        return isinstance(self.command, Reply)

    def set_lookahead(self, enabled: bool) -> None:
        """Before it starts, the command itself is changed; a race is always on against off."""
        self.lookahead = enabled
        if isinstance(self.command, Reply) and not self.started:
            options = msgspec.structs.replace(self.command.options, lookahead=enabled)
            self.command = msgspec.structs.replace(self.command, options=options)


class EngineServer:
    """Gives commands to one engine, which it makes at the first Load, and hands every event to ``emit``.

    ``take`` belongs to the thread that reads, ``serve`` to the one that decodes, and so does ``emit``.
    """

    def __init__(self, make_engine: Callable[[], Engine], emit: Callable[[Event], None]) -> None:
        self._make_engine = make_engine
        self._emit = emit
        self._engine: Engine | None = None
        self._waiting: deque[_Job] = deque()
        self._running: _Job | None = None
        self._closed = False
        self._changed = threading.Condition()

    def take(self, command: Command) -> None:
        """Queue a command that takes time; obey one that does not, at once."""
        with self._changed:
            if isinstance(command, Stop):
                self._stop()
            elif isinstance(command, SetLookahead):
                self._set_lookahead(command.enabled)
            elif isinstance(command, Inspect):
                if self._engine is not None:
                    self._engine.inspect(command.enabled)
            elif isinstance(command, Pause | StepOnce | Resume):
                self._set_pace(command)
            elif isinstance(command, Load | Reply | Race | Explain):
                self._waiting.append(_Job(command))
                self._changed.notify()

    def serve(self) -> None:
        """Answer commands until ``close``."""
        while not self._closed:
            self.serve_one()

    def close(self) -> None:
        """Begin no other command; from any thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def serve_one(self) -> None:
        """Wait for the next command and answer it to its end."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
            if self._closed:
                return
            job = self._running = self._waiting.popleft()
        try:
            self._answer(job)
        except (Exception, SystemExit) as error:  # the worker's edge: the process outlives any one command
            failure = LoadFailed if isinstance(job.command, Load) else Failed
            self._emit(failure(one_line(error)))
        finally:
            with self._changed:
                self._running = None

    def _stop(self) -> None:
        for job in self._jobs():
            job.stopped = not isinstance(job.command, Load)
        if self._engine is not None and self._running is not None and self._running.stopped:
            self._engine.stop()

    def _set_lookahead(self, enabled: bool) -> None:
        for job in self._jobs():
            job.set_lookahead(enabled)
        if self._engine is not None and self._running is not None and self._running.is_reply:
            self._engine.set_lookahead(enabled)

    def _set_pace(self, command: Pause | StepOnce | Resume) -> None:
        if self._engine is None or self._running is None or not self._running.is_reply:
            return
        if isinstance(command, StepOnce):
            self._engine.step_once()
            return
        self._running.paused = isinstance(command, Pause)
        if self._running.paused:
            self._engine.pause()
        else:
            self._engine.resume()

    def _jobs(self) -> list[_Job]:
        return [*self._waiting, *([self._running] if self._running is not None else [])]

    def _answer(self, job: _Job) -> None:
        if isinstance(job.command, Load) and self._engine is None:
            self._engine = self._make_engine()
        with self._changed:
            job.started = True
        if job.stopped:
            for event in cancelled(job.command):
                self._emit(event)
        elif self._engine is None:
            self._emit(Failed("no model is loaded"))
        else:
            self._run(self._engine, job)

    def _run(self, engine: Engine, job: _Job) -> None:
        """Hand the engine's events on; what was asked before the first of them is said once more behind it.

        (Between ``handle`` and its first event an engine may still be forgetting what was asked earlier.)
        """
        for number, event in enumerate(engine.handle(job.command)):
            with self._changed:
                if number == 0 and job.stopped:
                    engine.stop()
                if number == 0 and job.lookahead is not None and job.is_reply:
                    engine.set_lookahead(job.lookahead)
                if number == 0 and job.paused:
                    engine.pause()
            self._emit(event)


def one_line(error: BaseException) -> str:
    """An error as one line: in its own words if it is one of ours, else with its kind in front."""
    if isinstance(error, LadeChatError):
        return str(error)
    if is_out_of_memory(error):
        return "out of memory: try a shorter conversation, a smaller model or a smaller --dtype"
    kind, text = type(error).__name__, summary(error)
    return text if text == kind else f"{kind}: {text}"


def cancelled(command: Work) -> Iterable[Event]:
    """The answer to a command that was stopped before it began."""
    if isinstance(command, Explain):
        yield ExplainFinished()
        return
    nothing = Statistics()
    yield ReplyFinished("cancelled", nothing, side="left")
    if isinstance(command, Race):
        yield ReplyFinished("cancelled", nothing, side="right")
        yield RaceFinished(speedup=1.0, identical=True)


def load_engine(name: str) -> Engine:
    """The engine that ``module:factory`` makes."""
    module, _, factory = name.partition(":")
    engine: Engine = getattr(importlib.import_module(module), factory)()
    return engine


def _claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Keep stdin and stdout for the protocol: what a library prints goes to stderr, and it reads nothing."""
    commands = os.fdopen(os.dup(0), "rb")
    events = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, events


def _read(commands: BinaryIO, server: EngineServer) -> None:
    """Take commands until stdin ends, then end the process, whatever it is doing."""
    try:
        for line in commands:
            try:
                command = decode_command(line)
            except msgspec.MsgspecError as error:
                sys.stderr.write(f"not a command: {one_line(error)}\n")
                continue
            if isinstance(command, Quit):
                break
            server.take(command)
    finally:
        os._exit(0)


def main(arguments: list[str] | None = None) -> None:
    """Serve until stdin ends. ``--engine module:factory`` names another engine than the chat's."""
    wait_briefly()
    commands, events = _claim_stdio()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group
    parser = argparse.ArgumentParser(prog="lade_chat.engine.process.server")
    parser.add_argument("--engine", default=DEFAULT_ENGINE)
    engine = parser.parse_args(arguments).engine

    def emit(event: Event) -> None:
        try:
            events.write(encode(event))
            events.flush()
        except OSError:  # nobody listens any more
            os._exit(0)

    server = EngineServer(lambda: load_engine(engine), emit)
    threading.Thread(target=_read, args=(commands, server), daemon=True).start()
    server.serve()


if __name__ == "__main__":
    main()
