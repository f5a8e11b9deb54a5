"""Cleanup when the file is opened: conversations deleted long ago, and replies left by a killed program."""

from __future__ import annotations

import sqlite3
import time

from lade_chat.store import learnt, search
from lade_chat.store.sqlite import rows
from lade_chat.store.sqlite.schema import transaction

_DAY = 24 * 3600.0
RESTORABLE_SECONDS = 30 * _DAY
"""A deleted conversation can be restored for this long."""
MAX_CONVERSATIONS = 8
"""Conversations cleaned up at one opening; each takes about a millisecond."""
ABANDONED_SECONDS = _DAY
"""A reply begun longer ago is no longer being written; if it is, folding it loses nothing."""


def clean_up(connection: sqlite3.Connection, *, indexed: bool) -> None:
    """Clean up a few conversations, quickly, since a list may be waiting. Raises sqlite3.Error."""
    fold_abandoned(connection)
    purge(connection, RESTORABLE_SECONDS, most=MAX_CONVERSATIONS, indexed=indexed)


def purge(connection: sqlite3.Connection, kept_seconds: float, *, most: int = -1, indexed: bool) -> None:
    """Remove at ``most`` so many conversations deleted longer ago than this. Raises sqlite3.Error."""
    query, values = "SELECT id FROM conversations WHERE deleted <= ? LIMIT ?", (time.time() - kept_seconds, most)
    if not connection.execute(query, values).fetchall():
        return
    with transaction(connection):
        for (conversation,) in connection.execute(query, values).fetchall():
            if indexed:
                search.forget(connection, conversation)
            learnt.forget_since(connection, conversation)
            connection.execute("DELETE FROM conversations WHERE id = ?", (conversation,))


def fold_abandoned(connection: sqlite3.Connection) -> None:
    """Fold the chunks of abandoned replies into their turns, where searches find them. Raises sqlite3.Error."""
    query = """SELECT DISTINCT conversation FROM turns JOIN chunks ON turn = turns.id
        WHERE ending IS NULL AND turns.created < ? LIMIT ?"""
    before = time.time() - ABANDONED_SECONDS
    if not connection.execute(query, (before, MAX_CONVERSATIONS)).fetchall():
        return
    with transaction(connection):
        for (conversation,) in connection.execute(query, (before, MAX_CONVERSATIONS)).fetchall():
            for turn in rows.turns(connection, conversation):
                if turn.ending is None and turn.created < before:
                    for sql, values in rows.fold(turn):
                        connection.execute(sql, values)
