"""The conversations' file, opened on demand, with a queue of what could not be written yet."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

from lade_chat.paths import SURROGATES
from lade_chat.store.errors import StoreError, explain, is_corrupt, is_full, is_locked, written_by_newer
from lade_chat.store.sqlite import database_files, schema
from lade_chat.store.sqlite.database_files import FileLock
from lade_chat.store.sqlite.schema import transaction

FILE_NAME = "conversations.db"
BUSY_SECONDS = 5.0
"""Timeout for another program's transaction."""
LOCKED_SECONDS = 0.05
"""Timeout from then on until the file is free: a streaming reply must not wait at every token."""

T = TypeVar("T")
SqlValue: TypeAlias = str | bytes | float | int | None
Statement: TypeAlias = tuple[str, tuple[SqlValue, ...]]
"""SQL and its values."""
_REPLACED = (-1, -1)
"""Stands for the identity of a file that is no longer at its path."""


class StoreChange(NamedTuple):
    """Statements that are written together."""

    statements: Sequence[Statement]
    turn: int | None = None
    """The turn that they are about, if it is only that."""


class Database:
    """One file, one connection, one queue. Every method may be called from any thread; calls wait for one another."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self.notices: tuple[str, ...] = ()
        """Lines for the user, which come with a call or later: a file set aside, a conversation gone on elsewhere."""
        self.generation = 0
        """Incremented when the file was replaced by another, which lacks what was saved."""
        self._file_lock = FileLock(self.path.with_suffix(".lock"))
        self._lock = threading.RLock()
        self._queue: list[StoreChange] = []
        self._withdrawn: set[int | None] = set()
        """Turns that were taken back, which are no loss."""
        self._refused = False
        """True after a failed ``add``, whose statements are still with the caller."""
        self._locked = False
        """True after such a timeout."""
        self._connection: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Prepare a new connection, before anything else is done with it."""

    @property
    def unsaved(self) -> bool:
        """True while anything waits to be written, here or with a caller of ``add``."""
        return bool(self._queue) or self._refused

    @property
    def would_lose(self) -> bool:
        """True while ending the program would lose something: more waits than turns that were taken back."""
        return self._refused or any(change.turn not in self._withdrawn for change in tuple(self._queue))

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Return the result of ``work``. Raises StoreError. Tries the queue first, ignoring its errors."""
        with self._lock:
            with suppress(StoreError):
                self.save()
            return self._attempt(work)

    def write(
        self,
        statements: Sequence[Statement],
        *,
        flush: bool = True,
        turn: int | None = None,
        withdraws: bool = False,
    ) -> None:
        """Write these after the queue; on StoreError they are queued.

        Args:
            flush: sync them to disk. Without, a killed program loses nothing, but a power cut might.
            turn: the turn that they are about, if it is only that.
            withdraws: they take that turn back.
        """
        with self._lock:
            flush = flush or bool(self._queue)
            if withdraws:
                self._withdrawn.add(turn)
            self._queue.append(StoreChange(statements, turn))
            self.save(flush=flush)

    def add(self, statements: Sequence[Statement]) -> None:
        """Write without ``flush``; on StoreError these are not queued, since the caller has them."""
        with self._lock:
            self._refused = True
            self._write_out([*self._queue, StoreChange(statements)], flush=bool(self._queue))

    def save(self, *, flush: bool = True) -> None:
        """Write the queue. Raises StoreError."""
        with self._lock:
            if self._queue:
                self._write_out(self._queue, flush=flush)

    def close(self) -> None:
        """Write the queue and close the file; the next call opens it again. Break off a running reply first.

        Raises StoreError.
        """
        with self._lock:
            self._note_lock(False)
            try:
                self.save()
            finally:
                self._disconnect()

    def _write_out(self, changes: Sequence[StoreChange], *, flush: bool) -> None:
        self._attempt(lambda connection: _apply(connection, changes, flush=flush))
        self._queue.clear()
        self._refused = False
        self._note_lock(False)

    def _attempt(self, work: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return work(self._connected())
        except (sqlite3.Error, OSError, UnicodeDecodeError, schema.NewerSchemaError) as error:
            if not is_corrupt(error):
                raise self._failed(error) from error
        try:
            self._set_aside()
            return work(self._connected())
        except (sqlite3.Error, OSError, schema.NewerSchemaError) as error:
            raise self._failed(error) from error

    @property
    def _patience(self) -> float:
        """The seconds to wait for another program's transaction."""
        return LOCKED_SECONDS if self._locked else BUSY_SECONDS

    def _note_lock(self, locked: bool) -> None:
        changed, self._locked = locked is not self._locked, locked
        if changed and self._connection is not None:
            self._connection.execute(f"PRAGMA busy_timeout = {1000 * self._patience:.0f}")

    def _failed(self, error: Exception) -> StoreError:
        self._note_lock(is_locked(error))
        # On a full disk no new connection could be opened, but this one can still read.
        if not is_full(error) and not is_locked(error):
            self._disconnect()
        if isinstance(error, schema.NewerSchemaError):
            return written_by_newer(self.path)
        return explain(error, self.path)

    def _connected(self) -> sqlite3.Connection:
        if self._connection is not None and self._current_identity() == self._identity:
            return self._connection
        if self._identity is not None and self._current_identity() != self._identity:
            self._identity = _REPLACED  # a new file may be given the number of the one that is gone
        self._disconnect()
        database_files.make_private(self.path)
        if not self._file_lock.take(exclusive=False):
            raise sqlite3.OperationalError("locked while another program sets a file aside")
        self._connection = connection = sqlite3.connect(
            self.path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        connection.text_factory = readable
        try:
            schema.version(connection)
            _use_write_ahead_log(connection, self._patience)
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
        """Identify the file at the path: the one we opened may have been moved."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _set_aside(self) -> None:
        """Set an unusable file aside, unless another program has just done so."""
        self._disconnect()
        if not self._file_lock.take(exclusive=True):
            raise StoreError(
                f"The conversations in {self.path} are damaged, and another lade-chat has them open: "
                "close it, or choose another folder with --data-dir."
            )
        try:
            if database_files.is_damaged(self.path):
                self.notices = (*self.notices, database_files.set_aside(self.path))
        finally:
            self._file_lock.release()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()
        self._file_lock.release()


def _apply(connection: sqlite3.Connection, changes: Sequence[StoreChange], *, flush: bool) -> None:
    if flush:
        connection.execute("PRAGMA synchronous = FULL")
    try:
        with transaction(connection):
            for change in changes:
                for sql, values in change.statements:
                    connection.execute(sql, [storable(value) if isinstance(value, str) else value for value in values])
    finally:
        connection.execute("PRAGMA synchronous = NORMAL")


def storable(text: str) -> str:
    """Return the text with its lone surrogates replaced, which SQLite refuses."""
    return SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def readable(text: bytes) -> str:
    """Decode a stored text: a byte that a disk has spoilt is replaced, since the others are worth reading."""
    return text.decode("utf-8", "replace")


def _use_write_ahead_log(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to WAL, where readers and a writer do not block each other; SQLite itself does not wait here.

    File systems that lack what it needs, such as many of networks, keep a rollback journal.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                return  # if the problem was not WAL, the next statement fails, too
            if time.monotonic() >= deadline:
                raise
        time.sleep(0.02)
