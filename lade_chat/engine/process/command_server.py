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
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pkgutil import resolve_name
from typing import Any, Protocol

import msgspec

from lade_chat.child_processes import claim_stdio, limit_spinning, uncollected
from lade_chat.engine.job import Job
from lade_chat.errors import one_line
from lade_chat.protocol import commands
from lade_chat.protocol.codec import decode_command, encode
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, Waiting
from lade_chat.protocol.values import ModelInfo

DEFAULT_ENGINE = "lade_chat.engine.chat_engine:ChatEngine"
MAX_CACHED = 4
"""Conversations whose KV cache is kept; the others prefill their prompt again."""


class JobEngine(Protocol):
    """Carries out jobs, one at a time."""

    def handle(self, job: Job) -> Iterator[Event]:
        """Carry out a job, obeying it from step to step."""

    def exchange(self, cached: Any) -> Any:
        """Continue with another conversation's cache (None: an empty one); returns the previous one."""


class Client:
    """One who sends commands: the chat alone, or one of several tabs."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self.emit = emit
        self.waiting: deque[Job] = deque()
        self.running: Job | None = None
        self.inspecting = self.has_begun = False

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The client's jobs, the running one last."""
        return (*self.waiting, *([self.running] if self.running is not None else []))


class CommandServer:
    """The jobs of one client or several, for one engine, which is made at the first Load.

    Clients take turns, a job each, and the oldest job runs first. ``serve`` belongs to the thread that decodes; any
    thread may call the rest.
    """

    def __init__(self, make_engine: Callable[[], JobEngine]) -> None:
        self._make_engine = make_engine
        self._engine: JobEngine | None = None
        self._model: ModelInfo | None = None
        self._clients: set[Client] = set()
        self._turns: deque[Client] = deque()
        """The clients with waiting jobs, without the one whose job is running."""
        self._running: Client | None = None
        self._cached: OrderedDict[Client, Any] = OrderedDict()
        """Least recently used first, without the cache that is in the engine: that of ``_present``."""
        self._present: Client | None = None
        self._changed = threading.Condition()

    def open(self, emit: Callable[[Event], None]) -> Client:
        """Return a new client; ``emit`` takes its events, and waits for nothing if there are several."""
        client = Client(emit)
        with self._changed:
            self._clients.add(client)
        return client

    def close(self, client: Client) -> None:
        """Stop a client's jobs and drop its cache. Idempotent."""
        with self._changed:
            client.waiting.clear()
            if client in self._turns:
                self._turns.remove(client)
                self._report_queue()
            if client.running is not None:
                client.running.stop()
            self._clients.discard(client)
            self._cached.pop(client, None)

    def take(self, client: Client, command: commands.Command) -> None:
        """Apply a control to the client's jobs at once; queue any other command."""
        with self._changed:
            if isinstance(command, commands.JobCommand):
                self._add(client, Job(command, inspecting=client.inspecting))
            else:
                if isinstance(command, commands.Inspect):
                    client.inspecting = command.enabled
                for job in client.jobs:
                    _control(job, command)
            if self._running is not None:
                self._answer_stopped()

    def serve(self) -> None:
        """Carry out jobs for ever."""
        while True:
            self.serve_one()

    def serve_one(self) -> None:
        """Wait for the next job and carry it out."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._turns))
            client = self._running = self._turns.popleft()
            job = client.running = client.waiting.popleft()
            self._report_queue()
        try:
            for event in self._events(client, job):
                client.emit(event)
        except (Exception, SystemExit) as error:  # the worker's edge: the process outlives any one job
            failure = LoadFailed if isinstance(job.command, commands.Load) else Failed
            client.emit(failure(one_line(error)))
        finally:
            with self._changed:
                self._running = client.running = None
                if client.waiting:
                    self._turns.append(client)

    def _add(self, client: Client, job: Job) -> None:
        for other in (job for each in self._clients for job in each.jobs):
            if isinstance(other.command, commands.Prefill):
                other.stop()  # reading ahead is not waited for
        client.waiting.append(job)
        if client is self._running or client in self._turns:
            return
        self._turns.append(client)
        if self._running is not None and not job.is_background:
            client.emit(Waiting(len(self._turns)))
        self._allow_pause()
        self._changed.notify()

    def _answer_stopped(self) -> None:
        """Answer stopped jobs that wait for another client's: they need not wait for its end."""
        for client in tuple(self._turns):
            if not client.waiting[0].stopped:
                continue
            while client.waiting and client.waiting[0].stopped:
                for event in client.waiting.popleft().cancelled_events():
                    client.emit(event)
            if not client.waiting:
                self._turns.remove(client)
            self._report_queue()

    def _report_queue(self) -> None:
        """Tell clients that wait how many jobs come before theirs."""
        for ahead, client in enumerate(self._turns, start=1):
            if not client.waiting[0].is_background:
                client.emit(Waiting(ahead))
        self._allow_pause()

    def _allow_pause(self) -> None:
        """Allow the running reply to be paused unless others wait for it; reading ahead has time."""
        if self._running is not None and self._running.running is not None:
            others = any(not isinstance(client.waiting[0].command, commands.Prefill) for client in self._turns)
            self._running.running.allow_pause(not others)

    def _events(self, client: Client, job: Job) -> Iterable[Event]:
        if isinstance(job.command, commands.Load) and self._engine is None:
            self._engine = self._make_engine()
        if job.stopped:
            return job.cancelled_events()
        if self._engine is None:
            return [Failed("no model is loaded")]
        if isinstance(job.command, commands.Load):
            return self._load(self._engine, client, job)
        self._restore_cache(self._engine, client)
        if isinstance(job.command, commands.Remember) and job.command.forget:
            self._cached.clear()
        return self._engine.handle(job)

    def _load(self, engine: JobEngine, client: Client, job: Job) -> Iterator[Event]:
        """Load a client's model; refused if others use the present one, which a new client gets in any case."""
        with self._changed:
            others = len(self._clients - {client})
        first, client.has_begun = not client.has_begun, True
        if self._model is not None and first:
            yield Loaded(self._model)
            return
        if self._model is not None and others:
            tabs = "Another tab talks" if others == 1 else f"{others} other tabs talk"
            yield LoadFailed(f"{tabs} with this model: close the others before you open another.", kept=True)
            return
        for event in engine.handle(job):
            if isinstance(event, Loaded):
                self._model, self._present = event.model, client
                self._cached.clear()
            elif isinstance(event, LoadFailed) and not event.kept:
                self._model = None
            yield event

    def _restore_cache(self, engine: JobEngine, client: Client) -> None:
        """Put the client's cache into the engine, and keep at most ``MAX_CACHED`` in all."""
        if self._present is client:
            return
        previous = engine.exchange(self._cached.pop(client, None))
        if self._present in self._clients and previous is not None and self._present is not None:
            self._cached[self._present] = previous
        self._present = client
        while len(self._cached) >= MAX_CACHED:
            self._cached.popitem(last=False)


def _control(job: Job, command: commands.Command) -> None:
    match command:
        case commands.Stop():
            job.stop()
        case commands.Pause():
            job.pause()
        case commands.StepOnce():
            job.step_once()
        case commands.Resume():
            job.resume()
        case commands.SetLookahead(enabled):
            job.set_lookahead(enabled)
        case commands.Inspect(enabled):
            job.inspect(enabled)


def load_engine() -> Any:
    """Make the engine that this process's argument names as ``module:factory``; without one, the chat's."""
    name = next(iter(sys.argv[1:]), DEFAULT_ENGINE)
    if name == DEFAULT_ENGINE:
        from lade_chat.loading.model_loader import compile_ahead

        compile_ahead()
    with uncollected():
        return resolve_name(name)()


def take_commands(lines: Iterable[bytes], take: Callable[[commands.Command], None], *, skip_invalid: bool) -> None:
    """Give ``take`` each command until Quit, the last line, or an invalid line unless those are skipped."""
    for line in lines:
        try:
            command = decode_command(line)
        except msgspec.MsgspecError as error:
            sys.stderr.write(f"not a command: {one_line(error)}\n")
            if skip_invalid:
                continue
            return
        if isinstance(command, commands.Quit):
            return
        take(command)


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

    def read() -> None:
        """Take commands until stdin ends, then end the process, whatever it is doing."""
        try:
            take_commands(commands, partial(server.take, client), skip_invalid=True)
        finally:
            os._exit(0)

    server = CommandServer(load_engine)
    client = server.open(emit)
    threading.Thread(target=read, daemon=True).start()
    server.serve()
