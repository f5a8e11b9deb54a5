"""One engine for many tabs: one model, one command at a time, the tabs in turn, each with what it has cached.

Each tab has an ``EngineServer`` of its own, whose engine is a ``TabEngine``; all of these hand their commands to one
``SharedEngine``, which carries them out in a single thread. A tab has at most one command there, and whoever has
waited longest is next: that is a round of the tabs.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Condition
from typing import Any, Protocol

from lade_chat.engine.process.server import Engine, Work, cancelled, one_line
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, Waiting
from lade_chat.protocol.values import ModelInfo

MOST_CACHED = 4
"""Conversations whose KV cache is kept; the others read their prompt again, which is slower and nothing else."""


class CachingEngine(Engine, Protocol):
    """An engine whose conversation's cache can be taken out, and another's put in."""

    def exchange(self, cached: Any) -> Any:
        """Go on with another conversation's cache (None: an empty one); returns that of the one before."""


class _Turn:
    """A command of a tab, and its events; None ends them."""

    def __init__(self, tab: TabEngine, command: Work) -> None:
        self.tab = tab
        self.command = command
        self.lookahead: bool | None = None
        """As it was switched since the command came."""
        self.events: SimpleQueue[Event | BaseException | None] = SimpleQueue()


class SharedEngine:
    """``serve`` belongs to the thread that decodes; all else may come from any."""

    def __init__(self, make_engine: Callable[[], CachingEngine]) -> None:
        self._make_engine = make_engine
        self._engine: CachingEngine | None = None
        self._model: ModelInfo | None = None
        self._waiting: deque[_Turn] = deque()
        self._running: _Turn | None = None
        self._tabs: set[TabEngine] = set()
        self._cached: OrderedDict[TabEngine, Any] = OrderedDict()
        """Least recently used first; the tab whose cache is in the engine is ``_present``."""
        self._present: TabEngine | None = None
        self._changed = Condition()

    def open_tab(self) -> TabEngine:
        tab = TabEngine(self)
        with self._changed:
            self._tabs.add(tab)
        return tab

    def close_tab(self, tab: TabEngine) -> None:
        """Whatever it has asked for ends within a step, and its cache goes."""
        tab.stop()
        with self._changed:
            self._tabs.discard(tab)
            self._cached.pop(tab, None)

    def serve(self) -> None:
        """Carry out commands for ever."""
        while True:
            self.serve_one()

    def serve_one(self) -> None:
        """Wait for the next command and carry it out."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting))
            turn = self._running = self._waiting.popleft()
            self._tell_waiting()
        try:
            for event in self._events(turn):
                turn.events.put(event)
        except (Exception, SystemExit) as error:  # the worker's edge: one tab's trouble is not the others'
            turn.events.put(error)
        finally:
            with self._changed:
                self._running = None
            turn.events.put(None)

    def begin(self, tab: TabEngine, command: Work) -> _Turn:
        turn = _Turn(tab, command)
        with self._changed:
            self._waiting.append(turn)
            if self._running is not None:
                turn.events.put(Waiting(len(self._waiting)))
            self._changed.notify()
            if self._engine is not None:
                self._engine.resume()  # nobody waits for one who only looks
        return turn

    def stop(self, tab: TabEngine) -> None:
        with self._changed:
            tab.stopped = True
            for turn in [turn for turn in self._waiting if turn.tab is tab and not isinstance(turn.command, Load)]:
                self._waiting.remove(turn)
                for event in cancelled(turn.command):
                    turn.events.put(event)
                turn.events.put(None)
            self._tell_waiting()
            if self._engine is not None and self._running is not None and self._running.tab is tab:
                self._engine.stop()

    def set_lookahead(self, tab: TabEngine, enabled: bool) -> None:
        with self._changed:
            for turn in (*self._waiting, *([self._running] if self._running is not None else [])):
                if turn.tab is tab:
                    turn.lookahead = enabled
        self.if_running(tab, lambda engine: engine.set_lookahead(enabled))

    def if_running(self, tab: TabEngine, act: Callable[[CachingEngine], None], *, alone: bool = False) -> None:
        """Do something to the engine if it works for this tab; with ``alone`` only if no other waits."""
        with self._changed:
            running = self._running is not None and self._running.tab is tab
            if self._engine is not None and running and not (alone and self._waiting):
                act(self._engine)

    def _events(self, turn: _Turn) -> Iterator[Event]:
        if self._engine is None:
            self._engine = self._make_engine()
        if isinstance(turn.command, Load):
            yield from self._load(self._engine, turn.tab, turn.command)
        elif self._model is None:
            yield Failed("no model is loaded")
        else:
            self._bring(self._engine, turn.tab)
            for number, event in enumerate(self._engine.handle(turn.command)):
                with self._changed:
                    if number == 0 and turn.tab.stopped:  # an engine forgets what came before its first event
                        self._engine.stop()
                    if number == 0 and turn.lookahead is not None and isinstance(turn.command, Reply):
                        self._engine.set_lookahead(turn.lookahead)
                yield event

    def _tell_waiting(self) -> None:
        """Tell those who wait how many come before them."""
        for ahead, turn in enumerate(self._waiting, start=1):
            turn.events.put(Waiting(ahead))

    def _load(self, engine: CachingEngine, tab: TabEngine, command: Load) -> Iterator[Event]:
        """A tab begins with the model that is there. Another takes its place only where no other tab has it."""
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
        for event in engine.handle(command):
            if isinstance(event, Loaded):
                self._model = event.model
            elif isinstance(event, LoadFailed) and not event.kept:
                self._model = None
            yield event

    def _bring(self, engine: CachingEngine, tab: TabEngine) -> None:
        """Have the tab's cache in the engine, and no more than so many beside it."""
        if self._present is tab:
            return
        left = engine.exchange(self._cached.pop(tab, None))
        if self._present in self._tabs and left is not None and self._present is not None:
            self._cached[self._present] = left
        engine.inspect(tab.inspecting)
        self._present = tab
        while len(self._cached) >= MOST_CACHED:
            self._cached.popitem(last=False)


class TabEngine:
    """The shared engine, as one tab's server sees it. Its commands come one at a time."""

    def __init__(self, shared: SharedEngine) -> None:
        self._shared = shared
        self.stopped = False
        self.has_begun = False
        self.inspecting = False

    def handle(self, command: Work) -> Iterator[Event]:
        """Wait for this tab's turn, and tell what comes of the command."""
        self.stopped = False
        turn = self._shared.begin(self, command)
        while (event := turn.events.get()) is not None:
            if isinstance(event, BaseException):
                failure = LoadFailed if isinstance(command, Load) else Failed
                yield failure(one_line(event))
            else:
                yield event

    def stop(self) -> None:
        self._shared.stop(self)

    def set_lookahead(self, enabled: bool) -> None:
        self._shared.set_lookahead(self, enabled)

    def pause(self) -> None:
        self._shared.if_running(self, lambda engine: engine.pause(), alone=True)

    def step_once(self) -> None:
        self._shared.if_running(self, lambda engine: engine.step_once())

    def resume(self) -> None:
        self._shared.if_running(self, lambda engine: engine.resume())

    def inspect(self, enabled: bool) -> None:
        self.inspecting = enabled
        self._shared.if_running(self, lambda engine: engine.inspect(enabled))
