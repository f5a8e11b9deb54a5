"""What is tidied when the file is opened: conversations deleted long ago, and replies that a killed program left."""

from __future__ import annotations

import sqlite3
import time

from lade_chat.store import search
from lade_chat.store.sqlite import rows
from lade_chat.store.sqlite.transaction import transaction

_DAY = 24 * 3600.0
KEPT_DELETED_SECONDS = 30 * _DAY
"""How long a deleted conversation can be brought back."""
_AT_ONCE = 8
"""Conversations tidied at one opening; each takes about a millisecond."""
_SURELY_DEAD_SECONDS = _DAY
"""A reply begun longer ago is no longer being written. If it is all the same, nothing is lost by folding it."""


def tidy(connection: sqlite3.Connection, *, indexed: bool) -> None:
    """Do some of what is to be tidied, in little time: a list may be waited for. Raises sqlite3.Error."""
    fold_broken_off(connection)
    purge(connection, KEPT_DELETED_SECONDS, most=_AT_ONCE, indexed=indexed)


def purge(connection: sqlite3.Connection, kept_seconds: float, *, most: int = -1, indexed: bool) -> None:
    """Remove conversations deleted longer ago than this, at ``most`` so many. Raises sqlite3.Error."""
    query, values = "SELECT id FROM conversations WHERE deleted <= ? LIMIT ?", (time.time() - kept_seconds, most)
    if not connection.execute(query, values).fetchall():
        return
    with transaction(connection):
        for (conversation,) in connection.execute(query, values).fetchall():
            if indexed:
                search.forget(connection, conversation)
            connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))


def fold_broken_off(connection: sqlite3.Connection) -> None:
    """Join what was saved of long dead replies into their turns, where searches find it. Raises sqlite3.Error."""
    query = """SELECT DISTINCT conversation FROM turns JOIN chunks ON turn = turns.id
        WHERE ending IS NULL AND turns.created < ? LIMIT ?"""
    before = time.time() - _SURELY_DEAD_SECONDS
    if not connection.execute(query, (before, _AT_ONCE)).fetchall():
        return
    with transaction(connection):
        for (conversation,) in connection.execute(query, (before, _AT_ONCE)).fetchall():
            for turn in rows.turns(connection, conversation):
                if turn.ending is None and turn.created < before:
                    for sql, values in rows.fold(turn):
                        connection.execute(sql, values)
