"""The tables, transactions, and the migration of files of earlier versions.

A conversation is a tree of turns. A reply that is being written grows by rows of ``chunks``; when it has ended they
are folded into its turn. What is in doubt (a program killed in mid-reply) is read as the turn and then its chunks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

APPLICATION_ID = 0x4C414445
"""``LADE`` in the file's header, which distinguishes our files from other programs'."""


@contextmanager
def transaction(connection: sqlite3.Connection, *, writes: bool = True) -> Iterator[None]:
    """A transaction: committed at the end, rolled back on an error; all reads see the same state."""
    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # SQLite rolls some errors back itself
            connection.execute("ROLLBACK")
        raise


class NewerSchemaError(Exception):
    """The file was written by a later version of the application."""


def _first(connection: sqlite3.Connection) -> None:
    for statement in (
        f"PRAGMA application_id = {APPLICATION_ID}",
        """CREATE TABLE conversations (
            id TEXT PRIMARY KEY, created REAL NOT NULL, updated REAL NOT NULL, opening TEXT NOT NULL, name TEXT,
            system TEXT, model TEXT, leaf INTEGER, deleted REAL)""",
        "CREATE INDEX conversations_updated ON conversations (updated, id)",
        # A turn that is saved while its parent is gone becomes a first turn: better than not saved at all.
        """CREATE TABLE turns (
            id INTEGER PRIMARY KEY, conversation TEXT NOT NULL REFERENCES conversations ON DELETE CASCADE,
            parent INTEGER REFERENCES turns ON DELETE SET NULL, created REAL NOT NULL, ending TEXT,
            indexed INTEGER NOT NULL DEFAULT 0, model TEXT, error TEXT NOT NULL, question TEXT, reply TEXT NOT NULL,
            statistics TEXT, pieces BLOB)""",
        "CREATE INDEX turns_conversation ON turns (conversation, created)",
        "CREATE INDEX turns_parent ON turns (parent)",
        "CREATE INDEX turns_created ON turns (created)",
        "CREATE INDEX turns_to_index ON turns (indexed) WHERE indexed = 0",
        """CREATE TABLE chunks (
            turn INTEGER NOT NULL REFERENCES turns ON DELETE CASCADE, number INTEGER NOT NULL, text TEXT NOT NULL,
            statistics TEXT, pieces BLOB NOT NULL, PRIMARY KEY (turn, number)) WITHOUT ROWID""",
    ):
        connection.execute(statement)


def _second(connection: sqlite3.Connection) -> None:
    # Of an earlier conversation it is not known where it was held.
    connection.execute("ALTER TABLE conversations ADD COLUMN chat INTEGER NOT NULL DEFAULT 1")


MIGRATIONS: list[Callable[[sqlite3.Connection], None]] = [_first, _second]
"""The step from version n to n + 1 stands at place n. Append only: files of every version are out there."""


def version(connection: sqlite3.Connection) -> int:
    """The file's version: 0 is an empty file.

    Raises NewerSchemaError for a later one than this program's, and sqlite3.DatabaseError for another program's file.
    """
    # In this order, because another program may be making the tables, which it does all at once.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if tables and application != APPLICATION_ID:
        raise sqlite3.DatabaseError("file is not a database of conversations")
    if found > len(MIGRATIONS):
        raise NewerSchemaError
    return found


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the file to this version: entirely, or not at all. Two programs may try at once. Raises as ``version``."""
    if version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        for step in MIGRATIONS[version(connection) :]:
            step(connection)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
