"""Reads and writes what is kept, in one thread and in order, so that the screen never waits for a disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias, TypeVar

from lade_chat.store.errors import StoreError
from lade_chat.store.store import Store
from lade_chat.tui.transcript.notice import NoticeKind

CLOSING_SECONDS = 3.0
"""How long quitting waits for the disk at most; usually it takes some milliseconds."""
SAVED_AGAIN = "Everything is saved now."

T = TypeVar("T")
Job: TypeAlias = Callable[[], None]


class Keeper:
    """Jobs go in on the screen's side and run one after another; what comes of them is delivered there too.

    ``deliver`` has a function called on the screen's side and may itself be called from any thread. ``tell`` shows a
    line to the user: what could not be saved (once, until it is saved), and the store's notices.
    """

    def __init__(self, store: Store, deliver: Callable[[Job], object], tell: Callable[[str, NoticeKind], None]) -> None:
        self.store = store
        self.trouble = ""
        """Why not everything is saved; empty if it is."""
        self._deliver = deliver
        self._tell = tell
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._pending = 0
        self._told_notices = 0
        self._idle: Job = lambda: None
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether something that was asked for has not been delivered yet."""
        return self._pending > 0

    def when_idle(self, call: Job) -> None:
        """Have ``call`` called whenever all that was asked for has been delivered."""
        self._idle = call

    def change(self, work: Callable[[], object], then: Job | None = None) -> None:
        """Change what is kept. ``then`` is called even if the change could not be written yet: it is in memory."""

        def done(_result: object) -> None:
            if then is not None:
                then()

        self._do(work, done, done)

    def look_up(self, work: Callable[[], T], then: Callable[[T], None], failed: Job | None = None) -> None:
        """Have ``then`` called with what ``work`` gives back, or ``failed`` if that cannot be had."""
        self._do(work, then, lambda _result: failed() if failed is not None else None)

    def wait(self, seconds: float) -> bool:
        """Wait for what was asked for so far, at most so long; it is delivered afterwards. False if it takes longer."""
        done = threading.Event()
        self._jobs.put(done.set)
        return done.wait(seconds)

    def close(self) -> bool:
        """Finish what was asked for, and let the store go; ``trouble`` is then why that failed.

        False if the disk takes too long over it.
        """
        thread, self._thread, self._closed = self._thread, None, True
        self._deliver = lambda _call: None
        if thread is None:
            return True
        self._jobs.put(self._close_store)
        self._jobs.put(None)
        thread.join(CLOSING_SECONDS)
        return not thread.is_alive()

    def _do(self, work: Callable[[], T], then: Callable[[T], None], failed: Callable[[None], None]) -> None:
        if self._closed:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
            self._thread.start()
        self._pending += 1

        def job() -> None:
            try:
                result = work()
            except StoreError as error:
                text = str(error)
                self._deliver(lambda: self._delivered(text, lambda: failed(None)))
            else:
                self._deliver(lambda: self._delivered("", lambda: then(result)))

        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    def _delivered(self, trouble: str, call: Job) -> None:
        self._pending -= 1
        self._report(trouble)
        call()
        if not self._pending:
            self._idle()

    def _report(self, trouble: str) -> None:
        for notice in self.store.notices[self._told_notices :]:
            self._tell(notice, "error")
        self._told_notices = len(self.store.notices)
        if trouble and trouble != self.trouble:
            self.trouble = trouble
            self._tell(trouble, "error")
        elif self.trouble and not trouble and not self.store.unsaved:
            self.trouble = ""
            self._tell(SAVED_AGAIN, "information")

    def _close_store(self) -> None:
        try:
            self.store.close()
        except StoreError as error:
            self.trouble = error.reason
        else:
            self.trouble = ""
