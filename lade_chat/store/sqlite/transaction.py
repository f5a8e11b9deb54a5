"""All of a change, or nothing of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def transaction(connection: sqlite3.Connection, *, writes: bool = True) -> Iterator[None]:
    """What is written within is written together when it ends, and not at all when it raises.

    What is read within is all of one moment, whatever others write meanwhile.
    """
    connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # on some errors SQLite has rolled back already
            connection.execute("ROLLBACK")
        raise
