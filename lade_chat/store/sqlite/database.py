"""The conversations' file, opened when it is needed: what cannot be written stays in a queue until it can."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

from lade_chat.store.errors import StoreError, explain, is_corrupt, is_full, is_locked
from lade_chat.store.sqlite import files, schema
from lade_chat.store.sqlite.lock import Guard
from lade_chat.store.sqlite.transaction import transaction

FILE_NAME = "conversations.db"
BUSY_SECONDS = 5.0
"""How long to wait for another program's change to end."""

T = TypeVar("T")
Value: TypeAlias = str | bytes | float | int | None
Statement: TypeAlias = tuple[str, tuple[Value, ...]]
"""SQL and its values."""
_NO_CHARACTER = re.compile("[\ud800-\udfff]")


class Database:
    """One file, one connection, one queue. Every method may be called from any thread; calls wait for one another.

    ``prepare`` is called with each new connection, before anything else is done with it.
    """

    def __init__(self, folder: Path, prepare: Callable[[sqlite3.Connection], None]) -> None:
        self.path = folder / FILE_NAME
        self.notices: tuple[str, ...] = ()
        """Lines that people should read: which file was set aside, and why."""
        self.generation = 0
        """Grows when the file turns out to be another than before, which lacks what was saved."""
        self._prepare = prepare
        self._guard = Guard(self.path.with_suffix(".lock"))
        self._lock = threading.RLock()
        self._queue: list[Sequence[Statement]] = []
        self._refused = False
        """Whether the last ``add`` failed: what it was to write is with the caller still."""
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    @property
    def unsaved(self) -> bool:
        """Whether anything waits to be written, here or with a caller of ``add``."""
        return bool(self._queue) or self._refused

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """What ``work`` gives back. Raises StoreError; what waits to be written is tried first, in silence."""
        with self._lock:
            with suppress(StoreError):
                self.save()
            return self._attempt(work)

    def write(self, statements: Sequence[Statement], *, flush: bool = True) -> None:
        """Write these, after what waits; on StoreError they wait for the next time.

        With ``flush`` they are on the disk itself. Without, a killed program loses nothing, but a power cut might.
        """
        with self._lock:
            flush = flush or bool(self._queue)
            self._queue.append(statements)
            self.save(flush=flush)

    def add(self, statements: Sequence[Statement]) -> None:
        """As ``write`` without ``flush``, but on StoreError these are forgotten: the caller has them."""
        with self._lock:
            waiting = len(self._queue)
            changes = [*self._queue, statements]
            self._refused = True
            self._attempt(lambda connection: _apply(connection, changes, flush=waiting > 0))
            self._refused = False
            del self._queue[:waiting]

    def save(self, *, flush: bool = True) -> None:
        """Write what waits, if anything does. Raises StoreError."""
        with self._lock:
            if self._queue:
                self._attempt(lambda connection: _apply(connection, self._queue, flush=flush))
                self._queue.clear()
                self._refused = False

    def close(self) -> None:
        """Write what waits and let the file go; the next call opens it again. Raises StoreError."""
        with self._lock:
            try:
                self.save()
            finally:
                self._disconnect()

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connected())
        except (sqlite3.Error, OSError, schema.NewerSchemaError) as error:
            if not is_corrupt(error) and not isinstance(error, schema.NewerSchemaError):
                raise self._failed(error) from error
        try:
            self._set_aside()
            return work(self._connected())
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> StoreError:
        # On a full disk no new connection could be made, but with this one all can be read.
        if not is_full(error) and not is_locked(error):
            self._disconnect()
        return explain(error, self.path)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._current_identity() == self._identity:
            return self._connection
        self._disconnect()
        files.make_private(self.path)
        if not self._guard.share():
            raise sqlite3.OperationalError("locked while another program sets a file aside")
        self._connection = connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            schema.version(connection)
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            schema.migrate(connection)
            self._prepare(connection)
        except BaseException:
            self._disconnect()
            raise
        before, self._identity = self._identity, self._current_identity()
        self.generation += before is not None and before != self._identity
        return connection

    def _current_identity(self) -> tuple[int, int] | None:
        """Which file stands at the path: another program or person may have moved the one we opened."""
        try:
            told = self.path.stat()
        except OSError:
            return None
        return told.st_dev, told.st_ino

    def _set_aside(self) -> None:
        """Have an unusable file out of the way, unless another program has just done so."""
        self._disconnect()
        if not self._guard.take_alone():
            raise StoreError(
                f"The conversations in {self.path} cannot be used by this lade-chat, and another has them open: "
                "close it, or choose another folder with --data-dir."
            )
        try:
            if (flaw := files.inspect(self.path)) is not None:
                self.notices = (*self.notices, files.set_aside(self.path, flaw))
        finally:
            self._guard.release()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        self._guard.release()


def _apply(connection: sqlite3.Connection, changes: Sequence[Sequence[Statement]], *, flush: bool) -> None:
    """All changes or none; with ``flush`` they are on the disk itself, not only with the system."""
    if flush:
        connection.execute("PRAGMA synchronous = FULL")
    try:
        with transaction(connection):
            for statements in changes:
                for sql, values in statements:
                    connection.execute(sql, [_writable(value) for value in values])
    finally:
        connection.execute("PRAGMA synchronous = NORMAL")


def _writable(value: Value) -> Value:
    """The value; in a text, what is no character (half of a surrogate pair, from a broken argument) is replaced."""
    return _NO_CHARACTER.sub("\N{REPLACEMENT CHARACTER}", value) if isinstance(value, str) else value


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Readers and a writer do not wait for one another. SQLite gives up at once where two make the change at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() >= deadline:
                raise
        time.sleep(0.02)
