"""The engine process that tabs share: each connection is a tab; one model, one job at a time, a cache for each tab.

Each tab has its own ``CommandServer`` over a ``TabEngine``; all tabs hand their jobs to one ``SharedQueue``, which
carries them out in a single thread. A tab has at most one job there and the oldest runs first, so tabs take turns. The
process ends when its stdin closes, so it never outlives the process that started it.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol

from lade_chat.engine.job import Job
from lade_chat.engine.process.command_server import (
    CommandServer,
    JobEngine,
    load_engine,
    stop_reading_ahead,
    take_commands,
)
from lade_chat.engine.sharing.address import Address
from lade_chat.errors import one_line
from lade_chat.processes import end_with_parent, limit_spinning
from lade_chat.protocol.codec import encode
from lade_chat.protocol.commands import Load, Prefill, Remember
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, Waiting
from lade_chat.protocol.values import ModelInfo

MAX_CACHED = 4
"""Conversations whose KV cache is kept; the others prefill their prompt again."""
MAX_TABS = 32
"""Further connections are closed: each tab costs two threads and may hold a cache."""
MAX_COMMAND_BYTES = 1 << 26
"""No model has a context window for a longer conversation."""
PAUSE_SECONDS = 0.1
"""Delay after a connection that could not be accepted."""


class CachingEngine(JobEngine, Protocol):
    """An engine whose conversation cache can be exchanged for another."""

    def exchange(self, cached: Any) -> Any:
        """Continue with another conversation's cache (None: an empty one); returns the previous one."""


class _Request:
    """A tab's job, and its events; None ends them."""

    def __init__(self, tab: TabEngine, job: Job) -> None:
        self.tab = tab
        self.job = job
        self.events: SimpleQueue[Event | BaseException | None] = SimpleQueue()


class SharedQueue:
    """The engine and its queue. ``serve`` belongs to the thread that decodes; any thread may call the rest."""

    def __init__(self, make_engine: Callable[[], CachingEngine]) -> None:
        self._make_engine = make_engine
        self._engine: CachingEngine | None = None
        self._model: ModelInfo | None = None
        self._waiting: deque[_Request] = deque()
        self._running: _Request | None = None
        self._tabs: set[TabEngine] = set()
        self._cached: OrderedDict[TabEngine, Any] = OrderedDict()
        """Least recently used first, without the cache that is in the engine: that of ``_present``."""
        self._present: TabEngine | None = None
        self._changed = threading.Condition()

    def open_tab(self) -> TabEngine:
        """A new tab's view of this engine."""
        tab = TabEngine(self)
        with self._changed:
            self._tabs.add(tab)
        return tab

    def close_tab(self, tab: TabEngine) -> None:
        """Stop the tab's job and drop its cache."""
        with self._changed:
            for request in (*self._waiting, *([self._running] if self._running is not None else [])):
                if request.tab is tab:
                    request.job.stop()
            self._tabs.discard(tab)
            self._cached.pop(tab, None)

    def serve(self) -> None:
        """Carry out jobs for ever."""
        while True:
            self.serve_one()

    def serve_one(self) -> None:
        """Wait for the next job and carry it out."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting))
            request = self._running = self._waiting.popleft()
            self._report_queue()
        try:
            for event in self._events(request):
                request.events.put(event)
        except (Exception, SystemExit) as error:  # the worker's edge: one tab's error must not reach the others
            request.events.put(error)
        finally:
            with self._changed:
                self._running = None
            request.events.put(None)

    def submit(self, tab: TabEngine, job: Job) -> SimpleQueue[Event | BaseException | None]:
        """Queue a tab's job; returns the queue of its events."""
        request = _Request(tab, job)
        with self._changed:
            stop_reading_ahead([each.job for each in (*self._waiting, *([self._running] if self._running else []))])
            self._waiting.append(request)
            if self._running is not None and not job.is_background:
                request.events.put(Waiting(len(self._waiting)))
            self._allow_pause()
            self._changed.notify()
        job.on_stop(lambda: self._withdraw(request))
        return request.events

    def _withdraw(self, request: _Request) -> None:
        """Answer a stopped job that is still in the queue."""
        with self._changed:
            if request not in self._waiting:
                return
            self._waiting.remove(request)
            for event in (*request.job.cancelled_events(), None):
                request.events.put(event)
            self._report_queue()

    def _events(self, request: _Request) -> Iterator[Event]:
        if self._engine is None:
            self._engine = self._make_engine()
        if isinstance(request.job.command, Load):
            yield from self._load(self._engine, request.tab, request.job)
        elif self._model is None:
            yield Failed("no model is loaded")
        else:
            self._restore_cache(self._engine, request.tab)
            if isinstance(request.job.command, Remember) and request.job.command.forget:
                self._cached.clear()
            yield from self._engine.handle(request.job)

    def _report_queue(self) -> None:
        """Tell waiting tabs how many jobs come before theirs."""
        for ahead, request in enumerate(self._waiting, start=1):
            if request.job.is_background:
                continue
            request.events.put(Waiting(ahead))
        self._allow_pause()

    def _allow_pause(self) -> None:
        """Allow the running reply to be paused unless others wait for it; reading ahead has time."""
        if self._running is not None:
            others = any(not isinstance(each.job.command, Prefill) for each in self._waiting)
            self._running.job.allow_pause(not others)

    def _load(self, engine: CachingEngine, tab: TabEngine, job: Job) -> Iterator[Event]:
        """Load a tab's model; refused if other tabs use the present one, which a new tab gets in any case."""
        with self._changed:
            others = len(self._tabs - {tab})
        first, tab.has_begun = not tab.has_begun, True
        if self._model is not None and first:
            yield Loaded(self._model)
            return
        if self._model is not None and others:
            tabs = "Another tab talks" if others == 1 else f"{others} other tabs talk"
            yield LoadFailed(f"{tabs} with this model: close the others before you open another.", kept=True)
            return
        self._cached.clear()
        self._present = None
        for event in engine.handle(job):
            if isinstance(event, Loaded):
                self._model = event.model
            elif isinstance(event, LoadFailed) and not event.kept:
                self._model = None
            yield event

    def _restore_cache(self, engine: CachingEngine, tab: TabEngine) -> None:
        """Put the tab's cache into the engine, and keep at most ``MAX_CACHED`` in all."""
        if self._present is tab:
            return
        previous = engine.exchange(self._cached.pop(tab, None))
        if self._present in self._tabs and previous is not None and self._present is not None:
            self._cached[self._present] = previous
        self._present = tab
        while len(self._cached) >= MAX_CACHED:
            self._cached.popitem(last=False)


class TabEngine:
    """The shared engine as one tab's server sees it."""

    def __init__(self, shared: SharedQueue) -> None:
        self._shared = shared
        self.has_begun = False

    def handle(self, job: Job) -> Iterator[Event]:
        """Wait for this tab's turn, and yield the job's events."""
        events = self._shared.submit(self, job)
        while (event := events.get()) is not None:
            if isinstance(event, BaseException):
                failure = LoadFailed if isinstance(job.command, Load) else Failed
                yield failure(one_line(event))
            else:
                yield event


class Hub:
    """Accepts the connections that send the secret."""

    def __init__(self, address: Address, shared: SharedQueue) -> None:
        self._address = address
        self._shared = shared
        self._places = threading.Semaphore(MAX_TABS)

    def accept(self, listening: socket.socket) -> None:
        """Accept connections for ever."""
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # too many open files, or a client that left while it waited
                time.sleep(PAUSE_SECONDS)
                continue
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with connection:
            if not self._address.admits(connection) or not self._places.acquire(blocking=False):
                return
            try:
                self._serve(connection)
            finally:
                self._places.release()

    def _serve(self, connection: socket.socket) -> None:
        tab = self._shared.open_tab()
        gone = threading.Event()

        def emit(event: Event) -> None:
            try:
                if not gone.is_set():
                    connection.sendall(encode(event))
            except OSError:  # the tab has disconnected
                gone.set()
                self._shared.close_tab(tab)

        server = CommandServer(lambda: tab, emit)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            with suppress(OSError), connection.makefile("rb") as commands:
                lines = iter(lambda: commands.readline(MAX_COMMAND_BYTES), b"")
                take_commands(lines, server, skip_invalid=False)
        finally:
            gone.set()
            server.close()
            self._shared.close_tab(tab)


def main() -> None:
    """Serve tabs at the address in the environment until stdin ends."""
    limit_spinning()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group
    address = Address.of_environment()
    shared = SharedQueue(load_engine)
    listening = address.listen()
    end_with_parent(address.remove)
    threading.Thread(target=Hub(address, shared).accept, args=(listening,), daemon=True).start()
    shared.serve()
