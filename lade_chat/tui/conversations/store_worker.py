"""The thread that reads and writes the store and the settings, in order: the screen never waits for a disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from lade_chat.errors import one_line
from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError

CLOSING_SECONDS = 3.0
"""Limit on waiting for the disk when quitting; it usually takes some milliseconds."""
SAVED_AGAIN = "Everything is saved now."
UNEXPECTED = "What was last asked of the conversations failed, and the rest goes on"

T = TypeVar("T")
StoreTask: TypeAlias = Callable[[], None]


class StoreWorker:
    """Runs tasks one after another; they are submitted, and their results delivered, in the screen's thread.

    ``deliver`` has a function called in the screen's thread and is itself called from any thread. ``report`` shows a
    line to the user, as an error or not: a failure to save (once, until everything is saved), and the store's notices.
    ``idle`` is called whenever the results of all tasks have been delivered.
    """

    def __init__(
        self,
        store: Store,
        deliver: Callable[[StoreTask], object],
        report: Callable[[str, bool], None],
        idle: StoreTask = lambda: None,
    ) -> None:
        self.store = store
        self.trouble = ""
        """The reason that something is not saved; empty if everything is."""
        self._deliver = deliver
        self._show, self._idle = report, idle
        self._tasks: SimpleQueue[StoreTask | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._pending = 0
        self._reported_notices = 0
        self._closed = False

    @property
    def busy(self) -> bool:
        """True until the results of all tasks have been delivered."""
        return self._pending > 0

    def change(self, work: Callable[[], object], then: StoreTask = lambda: None) -> None:
        """Change the store. ``then`` is called even if the change could not be written yet: it is in memory."""
        self.look_up(work, lambda _result: then(), then)

    def look_up(self, work: Callable[[], T], then: Callable[[T], None], failed: StoreTask = lambda: None) -> None:
        """Run ``work`` in the thread, then call ``then`` with its result, or ``failed`` if the store cannot be read."""
        if self._closed:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="store", daemon=True)
            self._thread.start()
        self._pending += 1

        def task() -> None:
            try:
                result = work()
            except Exception as error:  # the worker's edge: the thread outlives any one task
                text = str(error) if isinstance(error, StoreError) else f"{UNEXPECTED} ({one_line(error)})."
                self._deliver(lambda: self._delivered(text, failed))
            else:
                self._deliver(lambda: self._delivered("", lambda: then(result)))

        self._tasks.put(task)

    def wait(self, seconds: float) -> bool:
        """Wait for the tasks so far, whose results are delivered afterwards. False after ``seconds``."""
        done = threading.Event()
        self._tasks.put(done.set)
        return done.wait(seconds)

    def close(self) -> bool:
        """Finish all tasks and close the store. False if that takes too long; ``trouble`` says why not all is saved."""
        thread, self._thread, self._closed = self._thread, None, True
        self._deliver = lambda _call: None
        if thread is None:
            return True
        self._tasks.put(self._close_store)
        self._tasks.put(None)
        thread.join(CLOSING_SECONDS)
        if thread.is_alive():
            self.trouble = self.trouble or f"{self.store.path} could not be written within {CLOSING_SECONDS:g} seconds."
            return False
        return True

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def _delivered(self, trouble: str, call: StoreTask) -> None:
        self._pending -= 1
        self._report(trouble)
        call()
        if not self._pending:
            self._idle()

    def _report(self, trouble: str) -> None:
        for notice in self.store.notices[self._reported_notices :]:
            self._show(notice, True)
        self._reported_notices = len(self.store.notices)
        if trouble and trouble != self.trouble:
            self.trouble = trouble
            self._show(trouble, True)
        elif self.trouble and not trouble and not self.store.unsaved:
            self.trouble = ""
            self._show(SAVED_AGAIN, False)

    def _close_store(self) -> None:
        self.trouble = ""
        try:
            self.store.close()
        except StoreError as error:
            self.trouble = error.reason
