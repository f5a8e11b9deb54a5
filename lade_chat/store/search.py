"""Finding conversations by words: each word of a search is looked for anywhere in a title or in a turn, in any case.

An index of three-letter sequences, where SQLite has FTS5, only narrows down which turns are read; what decides is
the text itself. So the index may lag behind or be missing, and a search finds the same.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from functools import lru_cache

from lade_chat.store.sqlite.database import readable, storable
from lade_chat.store.sqlite.schema import transaction
from lade_chat.store.tree import opening

_MAX_WORDS = 16
_MAX_GRAMS = 32
"""More would narrow down nothing further."""
_BATCH_TURNS = 500
"""Turns indexed in one go: a quarter of a second."""
_EXCERPT, _BEFORE = 240, 24
"""Characters of an excerpt, and of those before its match."""
_TEXT = "CAST(coalesce(question || char(10), '') || reply AS BLOB)"
_TITLE = "CAST(coalesce(name, opening) AS BLOB)"
"""As bytes, since Python refuses text that a disk has damaged."""


def prepare(connection: sqlite3.Connection) -> bool:
    """Prepare a new connection for searches; returns True if it has an index to narrow down with."""
    connection.create_function("folded", 1, _folded, deterministic=True)
    connection.create_function("mentions", 2, _mentions, deterministic=True)
    connection.create_function("spells", 2, _spells, deterministic=True)
    connection.create_function("excerpt", 3, _excerpt, deterministic=True)
    connection.create_function("opening", 1, lambda text: opening(readable(text)), deterministic=True)
    try:
        connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS grams USING fts5("
            "text, content='', detail=none, columnsize=0, tokenize='trigram case_sensitive 1')"
        )
        connection.execute("SELECT rowid FROM grams LIMIT 0")
    except sqlite3.DatabaseError:  # no FTS5, or the index is broken
        return False
    return True


def condition(search: str, *, indexed: bool, whole: bool = False) -> tuple[str, tuple[str, ...]]:
    """SQL (and its values) that is true of the rows of ``conversations`` that are found; ``whole``: by whole words."""
    verb = "spells" if whole else "mentions"
    words = " ".join(_words(search))
    if not words:
        return "TRUE", ()
    grams = [found] if indexed and (found := _grams(words)) else []
    narrowed = "(indexed = 0 OR turns.id IN (SELECT rowid FROM grams WHERE grams MATCH ?)) AND" if grams else ""
    return (
        f"""({verb}({_TITLE}, ?) OR id IN (
        SELECT conversation FROM turns WHERE {narrowed} {verb}({_TEXT}, ?)))""",
        (words, *grams, words),
    )


def excerpt(search: str) -> tuple[str, tuple[str, ...]]:
    """SQL (and its values) for the words around the newest match in a row of ``conversations``."""
    words = " ".join(_words(search))
    if not words:
        return "''", ()
    return (
        f"""CASE WHEN mentions({_TITLE}, ?) THEN '' ELSE coalesce((
        SELECT excerpt(CAST(coalesce(question, '') AS BLOB), CAST(reply AS BLOB), ?) FROM turns
        WHERE conversation = conversations.id AND mentions({_TEXT}, ?) ORDER BY turns.created DESC LIMIT 1), '') END""",
        (words, words, words),
    )


def pattern(search: str) -> re.Pattern[str]:
    """Return a pattern of each word of a search, as it stands in a text."""
    words = sorted(_words(search), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)) or r"(?!)", re.IGNORECASE)


def index_new(connection: sqlite3.Connection) -> None:
    """Index turns that have ended since the last time, some hundreds at most. What fails is left for the next time."""
    with suppress(sqlite3.DatabaseError):
        new = connection.execute(
            "SELECT id FROM turns WHERE indexed = 0 AND ending IS NOT NULL LIMIT ?", (_BATCH_TURNS,)
        ).fetchall()
        if not new:
            return
        with transaction(connection):
            for turn in new:
                # Only if no other program has been faster.
                if connection.execute("UPDATE turns SET indexed = 1 WHERE id = ? AND indexed = 0", turn).rowcount:
                    connection.execute(
                        f"INSERT INTO grams (rowid, text) SELECT id, folded({_TEXT}) FROM turns WHERE id = ?", turn
                    )


def renew(connection: sqlite3.Connection) -> None:
    """Throw a broken index away; a new one is filled bit by bit (``index_new``). What fails is left as it is."""
    with suppress(sqlite3.DatabaseError), transaction(connection):
        connection.execute("DROP TABLE grams")
        connection.execute("UPDATE turns SET indexed = 0 WHERE indexed")
        prepare(connection)


def forget(connection: sqlite3.Connection, conversation: str) -> None:
    """Remove a conversation that is about to be deleted from the index. Raises sqlite3.Error."""
    connection.execute(
        f"""INSERT INTO grams (grams, rowid, text) SELECT 'delete', id, folded({_TEXT}) FROM turns
        WHERE conversation = ? AND indexed = 1""",
        (conversation,),
    )


@lru_cache(maxsize=64)
def _words(search: str) -> tuple[str, ...]:
    words = storable(search).replace("\0", " ").casefold().split()
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


@lru_cache(maxsize=64)
def _whole_words(search: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in _words(search))


def _grams(words: str) -> str:
    """A query for all three-letter sequences of the words; empty if the words are shorter."""
    grams = [word[start : start + 3] for word in words.split() for start in range(len(word) - 2)]
    quoted = ('"' + gram.replace('"', '""') + '"' for gram in dict.fromkeys(grams))
    return " AND ".join(list(quoted)[:_MAX_GRAMS])


def _folded(text: bytes) -> str:
    return readable(text).casefold()


def _mentions(text: bytes, search: str) -> bool:
    folded = _folded(text)
    return all(word in folded for word in _words(search))


def _spells(text: bytes, search: str) -> bool:
    """Return True if each word of a search stands in a text as a whole word."""
    folded = _folded(text)
    return all(pattern.search(folded) for pattern in _whole_words(search))


def _excerpt(question: bytes, reply: bytes, search: str) -> str:
    """Return a part of the question or else the reply, as one line, that begins shortly before the longest word."""
    word = re.compile(re.escape(max(_words(search), key=len)), re.IGNORECASE)
    asked = readable(question)
    line = " ".join((asked if word.search(asked) else readable(reply)).split())
    found = word.search(line)
    start = line.rfind(" ", 0, found.start() - _BEFORE) + 1 if found is not None and found.start() > _BEFORE else 0
    return f"{'…' if start else ''}{line[start : start + _EXCERPT]}"
