"""The engine in a process of its own: commands as JSON lines on stdin, events as JSON lines on stdout.

One thread reads commands; controls act on the jobs at once, and jobs wait for the main thread, which carries them out
in order. The process ends immediately, even in the middle of a forward pass, on Quit or when stdin closes: no part of
a conversation lives here. torch is imported with the first Load, so the process starts fast.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pkgutil import resolve_name
from typing import Any, BinaryIO, Protocol

import msgspec

from lade_chat.engine.job import Job
from lade_chat.errors import one_line
from lade_chat.processes import claim_stdio, limit_spinning, uncollected
from lade_chat.protocol.codec import decode_command, encode
from lade_chat.protocol.commands import (
    Command,
    Inspect,
    JobCommand,
    Load,
    Pause,
    Prefill,
    Quit,
    Resume,
    SetLookahead,
    StepOnce,
    Stop,
)
from lade_chat.protocol.events import Event, Failed, LoadFailed

DEFAULT_ENGINE = "lade_chat.engine.chat_engine:ChatEngine"


class JobEngine(Protocol):
    """Carries out jobs, one at a time."""

    def handle(self, job: Job) -> Iterator[Event]:
        """Carry out a job, obeying it from step to step."""


class CommandServer:
    """A queue of jobs for one engine, which is made at the first Load.

    ``take`` and ``close`` may be called from any thread; ``serve`` and ``emit`` belong to the thread that decodes.
    """

    def __init__(self, make_engine: Callable[[], JobEngine], emit: Callable[[Event], None]) -> None:
        self._make_engine = make_engine
        self._emit = emit
        self._engine: JobEngine | None = None
        self._waiting: deque[Job] = deque()
        self._running: Job | None = None
        self._inspecting = self._closed = False
        self._changed = threading.Condition()

    def take(self, command: Command) -> None:
        """Apply a control to the jobs at once; queue any other command."""
        with self._changed:
            jobs = [*self._waiting, *([self._running] if self._running is not None else [])]
            if isinstance(command, JobCommand):
                stop_reading_ahead(jobs)
                self._waiting.append(Job(command, inspecting=self._inspecting))
                self._changed.notify()
                return
            if isinstance(command, Inspect):
                self._inspecting = command.enabled
            for job in jobs:
                _control(job, command)

    def serve(self) -> None:
        """Carry out jobs until ``close``."""
        while not self._closed:
            self.serve_one()

    def close(self) -> None:
        """End ``serve`` after the present job."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def serve_one(self) -> None:
        """Wait for the next job and carry it out."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._closed)
            if self._closed:
                return
            job = self._running = self._waiting.popleft()
        try:
            for event in self._events(job):
                self._emit(event)
        except (Exception, SystemExit) as error:  # the worker's edge: the process outlives any one job
            failure = LoadFailed if isinstance(job.command, Load) else Failed
            self._emit(failure(one_line(error)))
        finally:
            with self._changed:
                self._running = None

    def _events(self, job: Job) -> Iterable[Event]:
        if isinstance(job.command, Load) and self._engine is None:
            self._engine = self._make_engine()
        if job.stopped:
            return job.cancelled_events()
        if self._engine is None:
            return [Failed("no model is loaded")]
        return self._engine.handle(job)


def _control(job: Job, command: Command) -> None:
    match command:
        case Stop():
            job.stop()
        case Pause():
            job.pause()
        case StepOnce():
            job.step_once()
        case Resume():
            job.resume()
        case SetLookahead(enabled):
            job.set_lookahead(enabled)
        case Inspect(enabled):
            job.inspect(enabled)


def stop_reading_ahead(jobs: Iterable[Job]) -> None:
    """Stop background prefills, since another command has arrived."""
    for job in jobs:
        if isinstance(job.command, Prefill):
            job.stop()


def load_engine() -> Any:
    """Make the engine that this process's argument names as ``module:factory``; without one, the chat's."""
    name = next(iter(sys.argv[1:]), DEFAULT_ENGINE)
    if name == DEFAULT_ENGINE:
        from lade_chat.loading.model_loader import compile_ahead

        compile_ahead()
    with uncollected():
        return resolve_name(name)()


def take_commands(lines: Iterable[bytes], server: CommandServer, *, skip_invalid: bool) -> None:
    """Give the server each command until Quit, the last line, or an invalid line unless those are skipped."""
    for line in lines:
        try:
            command = decode_command(line)
        except msgspec.MsgspecError as error:
            sys.stderr.write(f"not a command: {one_line(error)}\n")
            if skip_invalid:
                continue
            return
        if isinstance(command, Quit):
            return
        server.take(command)


def _read(commands: BinaryIO, server: CommandServer) -> None:
    """Take commands until stdin ends, then end the process, whatever it is doing."""
    try:
        take_commands(commands, server, skip_invalid=True)
    finally:
        os._exit(0)


def main() -> None:
    """Serve until stdin ends."""
    limit_spinning()
    commands, events = claim_stdio()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group

    def emit(event: Event) -> None:
        try:
            events.write(encode(event))
            events.flush()
        except OSError:  # the reader has gone
            os._exit(0)

    server = CommandServer(load_engine, emit)
    threading.Thread(target=_read, args=(commands, server), daemon=True).start()
    server.serve()
