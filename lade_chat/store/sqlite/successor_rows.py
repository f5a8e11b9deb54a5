"""Successors learnt in replies: a table beside the turns, which later conversations begin with and none depends on.

The guesses that an engine checked may have come from any conversation before, so what one reply has learnt may hold
words of another. It is therefore of no use while a conversation is deleted that was there before, and goes with it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable

MAX_REPLIES = 400
"""Maximum replies, the latest of all models, whose successors are kept: about seven kilobytes each."""
MAX_BYTES = 300_000
"""Maximum bytes returned: some 20,000 rows, which are learnt in a quarter of a second."""


def prepare(connection: sqlite3.Connection) -> None:
    """Make the table. Earlier versions leave it alone, but for rows whose turn they remove. Raises sqlite3.Error."""
    connection.execute(
        """CREATE TABLE IF NOT EXISTS learnt (turn INTEGER PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
        saved REAL NOT NULL, successors BLOB NOT NULL)"""
    )


def put(connection: sqlite3.Connection, turn: int, successors: bytes) -> None:
    """Keep what a saved turn's reply has learnt, and drop the oldest. Raises sqlite3.Error."""
    connection.execute(
        "INSERT OR REPLACE INTO learnt SELECT id, ?, ? FROM turns WHERE id = ?", (time.time(), successors, turn)
    )
    connection.execute(
        "DELETE FROM learnt WHERE turn NOT IN (SELECT turn FROM learnt ORDER BY saved DESC LIMIT ?)", (MAX_REPLIES,)
    )


def of_turns(connection: sqlite3.Connection, turns: Iterable[int]) -> dict[int, bytes]:
    """Return what these turns have learnt, as far as it can be used; the first ones' if it is too much."""
    found: dict[int, bytes] = {}
    room = MAX_BYTES
    try:
        for turn in turns:
            row = connection.execute(
                """SELECT successors FROM learnt WHERE turn = ? AND NOT EXISTS (
                SELECT 1 FROM conversations WHERE deleted IS NOT NULL AND created <= saved)""",
                (turn,),
            ).fetchone()
            if row is not None and isinstance(row[0], bytes) and (room := room - len(row[0])) >= 0:
                found[turn] = row[0]
    except sqlite3.Error:  # without it there are just fewer guesses
        return {}
    return found


def forget_since(connection: sqlite3.Connection, conversation: str) -> None:
    """Remove all that was learnt since a conversation began, before it is removed itself. Raises sqlite3.Error."""
    connection.execute(
        "DELETE FROM learnt WHERE saved >= (SELECT created FROM conversations WHERE id = ?)", (conversation,)
    )
