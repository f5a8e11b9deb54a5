"""All conversations of a user: begins, finds, resumes, renames, deletes, restores and at last removes them."""

from __future__ import annotations

import secrets
import sqlite3
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from lade_chat.protocol.values import EarlierReply
from lade_chat.store import search
from lade_chat.store.errors import StoreError
from lade_chat.store.records import Record, Summary
from lade_chat.store.saved_conversation import Conversation
from lade_chat.store.sqlite import conversation_rows, successor_rows
from lade_chat.store.sqlite.conversation_rows import RECORD_COLUMNS
from lade_chat.store.sqlite.database import Database, storable
from lade_chat.store.sqlite.database_files import default_folder
from lade_chat.store.sqlite.schema import transaction
from lade_chat.store.tree import Snapshot

_DAY = 24 * 3600.0
RESTORABLE_SECONDS = 30 * _DAY
"""A deleted conversation can be restored for this long."""
MAX_CONVERSATIONS = 8
"""Conversations cleaned up at one opening; each takes about a millisecond."""
ABANDONED_SECONDS = _DAY
"""A reply begun longer ago is no longer being written; if it is, folding it loses nothing."""


def purge(connection: sqlite3.Connection, *, indexed: bool) -> None:
    """Remove for good some of the conversations deleted longer ago than they can be restored. Raises sqlite3.Error."""
    query = "SELECT id FROM conversations WHERE deleted <= ? LIMIT ?"
    values = time.time() - RESTORABLE_SECONDS, MAX_CONVERSATIONS
    if not connection.execute(query, values).fetchall():
        return
    with transaction(connection):
        for (conversation,) in connection.execute(query, values).fetchall():
            if indexed:
                search.forget(connection, conversation)
            successor_rows.forget_since(connection, conversation)
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
            for turn in conversation_rows.turns(connection, conversation):
                if turn.ending is None and turn.created < before:
                    for sql, values in conversation_rows.fold(turn):
                        connection.execute(sql, values)


_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""No i, l, o and u: an identifier may be read aloud."""
MAX_REMEMBERED_TOKENS = 32_768
"""As many as the source of guesses from the text holds."""


class Store(Database):
    """The conversations in one folder. Several programs, and several stores in one, may use it at once.

    Nothing is opened before the first call that needs it, and a call that fails raises StoreError, whose line can be
    shown as it is; the next call tries again. Any method may be called from any thread; calls wait for one another, at
    most some seconds where another program writes. ``notices``, ``unsaved`` and ``would_lose`` never wait.
    """

    def __init__(self, data_dir: Path | None = None, *, remember: bool = True, chat: bool = True) -> None:
        """``chat``: False for questions on the command line, which are no conversations of the chat."""
        self.remembers = remember
        self._chat = chat
        self._indexed = False
        # Absolute, since the working folder may be moved or removed meanwhile.
        super().__init__((data_dir or default_folder()).absolute())

    def begin(self, system: str | None = None) -> Conversation:
        """Begin a conversation, which is stored from its first question on."""
        now = time.time()
        name = "".join(secrets.choice(_LETTERS) for _ in range(10))
        record = Record(name, now, now, system=storable(system or "") or None, chat=self._chat)
        return self._open(Snapshot(record, {}))

    def resume(self, conversation: str) -> Conversation:
        """Return a stored conversation. Raises StoreError, also for an unknown id."""
        name = storable(conversation)
        stored = self.run(lambda connection: conversation_rows.load(connection, name))
        if stored is None:
            raise StoreError(f"There is no conversation {name} in {self.path}.")
        about = msgspec.structs.replace(stored.about, chat=stored.about.chat or self._chat)
        return self._open(stored._replace(about=about))

    def latest(self) -> Conversation | None:
        """Return the conversation used last, for the chat one of its own if there is any. Raises StoreError."""
        newest = self.run(lambda connection: conversation_rows.latest(connection, chat=self._chat))
        return self.resume(newest) if newest else None

    def page(self, matching: str = "", *, after: Summary | None = None, size: int = 50) -> tuple[Summary, ...]:
        """Return a page of conversations: the chat's, then those of the command line, both latest first.

        Raises StoreError.

        ``matching``: words that are all in the title, or all in one turn; where they are whole words there, the
        conversation comes first. ``after``: the last of the page before.
        """

        def read(connection: sqlite3.Connection, indexed: bool) -> tuple[Summary, ...]:
            found, values = search.condition(matching, indexed=indexed)
            excerpt, words = search.excerpt(matching)
            whole, exact = search.condition(matching, indexed=indexed, whole=True)
            before = (after.is_whole, after.record.chat, after.record.updated, after.id) if after is not None else ()
            query = f"""SELECT {RECORD_COLUMNS}, (
                WITH RECURSIVE path(id) AS (
                    SELECT conversations.leaf UNION SELECT parent FROM turns JOIN path ON turns.id = path.id)
                SELECT count(question) FROM turns WHERE id IN path),
                {conversation_rows.TWIN}, {conversation_rows.LATER}, {excerpt}, whole
                FROM (SELECT *, {whole} AS whole FROM conversations
                    WHERE deleted IS NULL AND {found}
                    AND {"(whole, chat, updated, id) < (?, ?, ?, ?)" if before else "TRUE"}
                    ORDER BY whole DESC, chat DESC, updated DESC, id DESC LIMIT ?) AS conversations
                ORDER BY whole DESC, chat DESC, updated DESC, id DESC"""
            return conversation_rows.summaries(connection.execute(query, (*words, *exact, *values, *before, size)))

        def find(connection: sqlite3.Connection) -> tuple[Summary, ...]:
            if self._indexed:
                try:
                    return read(connection, indexed=True)
                except sqlite3.DatabaseError:  # perhaps only the index is broken
                    search.renew(connection)
            return read(connection, indexed=False)

        return self.run(find)

    def prompts(self, limit: int = 1000) -> tuple[str, ...]:
        """Return the distinct questions of all undeleted conversations, newest first. Raises StoreError."""
        return self.run(lambda connection: conversation_rows.prompts(connection, limit))

    def earlier_replies(self, fingerprint: str, max_tokens: int = MAX_REMEMBERED_TOKENS) -> tuple[EarlierReply, ...]:
        """Return the latest replies of this very model and what was learnt in them, the latest last. Raises StoreError.

        None of a deleted conversation, and none at all where ``remember`` is off or the model is not known.
        """

        def read(connection: sqlite3.Connection) -> tuple[EarlierReply, ...]:
            replies = conversation_rows.earlier_replies(connection, fingerprint, max_tokens)
            successors = successor_rows.of_turns(connection, replies)
            return tuple(
                msgspec.structs.replace(reply, successors=successors.get(turn, b""))
                for turn, reply in reversed(replies.items())
            )

        return self.run(read) if self.remembers and fingerprint else ()

    def rename(self, conversation: str, title: str) -> None:
        """Set the title; a blank one restores the first question. Raises StoreError."""
        self.write([conversation_rows.change(conversation, name=" ".join(title.split()) or None)])

    def delete(self, conversation: str) -> None:
        """Delete a conversation; ``restore`` works for 30 days. Raises StoreError."""
        self.write([conversation_rows.change(conversation, deleted=time.time())])

    def restore(self, conversation: str) -> None:
        """Undo ``delete``. Raises StoreError."""
        self.write([conversation_rows.change(conversation, deleted=None)])

    def _open(self, stored: Snapshot) -> Conversation:
        return Conversation(self, stored, remembers=self.remembers)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._indexed = search.prepare(connection)
        with suppress(sqlite3.Error):  # it can wait, for instance until the disk has room
            successor_rows.prepare(connection)
            fold_abandoned(connection)
            purge(connection, indexed=self._indexed)
