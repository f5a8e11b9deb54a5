"""Terminal output written in a thread, so that nothing waits for a slow, stalled or vanished terminal."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

CLOSING_SECONDS = 1.0
"""Maximum time that ``close`` waits for pending output to be written."""
_MAX_WAITING_BYTES = 64 * 1024
"""Unwritten bytes above which screen updates are dropped: they would be outdated before they are seen."""
_MAX_MODE_CHARACTERS = 64
"""Maximum characters of an escape sequence that sets something; longer output draws."""

HANGUP_CODE = 129
"""The exit code where the terminal has gone, noticed by a read, a write or SIGHUP: 128 and that signal's number."""


class Output:
    """Writes one file in a thread. Any method may be called from any thread, and none but ``close`` waits.

    ``caught_up`` is called in the output's thread when all is written, if screen updates were dropped: the screen must
    be redrawn. ``lost`` is called there when the terminal is gone.
    """

    def __init__(self, fileno: int, caught_up: Callable[[], object], lost: Callable[[], object]) -> None:
        self._fileno = fileno
        self._caught_up = caught_up
        self._lost = lost
        self._changed = threading.Condition()
        self._waiting: list[bytes] = []
        self._unread = 0
        self._left_out = self._closed = self._gone = False
        self._thread = threading.Thread(target=self._run, name="output", daemon=True)
        self._thread.start()

    def write(self, data: bytes, *, picture: bool = False) -> None:
        """Queue ``data`` to be written as a whole; a ``picture`` (screen update) may be dropped."""
        with self._changed:
            if self._gone or self._closed:
                return
            if picture and self._unread > _MAX_WAITING_BYTES:
                self._left_out = True
                return
            self._waiting.append(data)
            self._unread += len(data)
            self._changed.notify()

    def close(self) -> None:
        """End the output: wait until all is written, but not for long."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(CLOSING_SECONDS)

    def _run(self) -> None:
        while data := self._next():
            try:
                self._put(data)
            except OSError:
                with self._changed:
                    self._gone = True
                    self._waiting.clear()
                self._lost()
                return
            with self._changed:
                self._unread -= len(data)
                caught_up = self._left_out and not self._waiting
                self._left_out = self._left_out and not caught_up
            if caught_up:
                self._caught_up()

    def _next(self) -> bytes:
        """Return all that waits to be written; nothing once it is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            data, self._waiting = b"".join(self._waiting), []
            return data

    def _put(self, data: bytes) -> None:
        # Not through a buffered file: at the end Python would wait for its lock.
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._fileno, rest) :]
            except BlockingIOError:  # another program has made the terminal so
                select.select([], [self._fileno], [])


def is_picture(text: str) -> bool:
    """Return whether the text only draws, so that it may be dropped: it sets no mode and no clipboard."""
    return len(text) > _MAX_MODE_CHARACTERS and not text.startswith("\x1b]")
