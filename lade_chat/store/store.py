"""All conversations of a user: begun, found, resumed, renamed, deleted and brought back."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lade_chat.store import search
from lade_chat.store.conversation import Conversation
from lade_chat.store.documents.jsonl import parse
from lade_chat.store.errors import StoreError
from lade_chat.store.sqlite import rows
from lade_chat.store.sqlite.database import Database
from lade_chat.store.sqlite.files import default_folder
from lade_chat.store.sqlite.rows import RECORD_COLUMNS, Stored
from lade_chat.store.upkeep import KEPT_DELETED_SECONDS, purge, tidy
from lade_chat.store.values import Record, Summary

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
"""No i, l, o and u: an identifier may be read aloud."""


class Store:
    """The conversations in one folder. Several programs, and several stores in one, may use it at once.

    Nothing is opened before the first call that needs it, and a call that fails raises StoreError, whose line can be
    shown as it is; the next call tries anew. Any method may be called from any thread; calls wait for one another, at
    most some seconds where another program writes. ``notices`` and ``unsaved`` never wait.
    """

    def __init__(self, data_dir: Path | None = None) -> None:
        """``data_dir`` None means where the platform keeps a user's data."""
        self._indexed = False
        self._database = Database(data_dir or default_folder(), self._prepare)

    @property
    def path(self) -> Path:
        """The file."""
        return self._database.path

    @property
    def notices(self) -> tuple[str, ...]:
        """Lines that people should read: which file was set aside, and why. They come with the first call or later."""
        return self._database.notices

    @property
    def unsaved(self) -> bool:
        """Whether something could not be written yet."""
        return self._database.unsaved

    def begin(self, system: str | None = None) -> Conversation:
        """A new conversation, which is kept from its first question on."""
        now = time.time()
        return Conversation(self._database, Stored(Record(_new_name(), now, now, system=system or None), ()))

    def resume(self, conversation: str) -> Conversation:
        """A conversation as it was left, of this or another program. Raises StoreError, also where there is none."""
        stored = self._database.run(lambda connection: rows.load(connection, conversation))
        if stored is None:
            raise StoreError(f"There is no conversation {conversation} in {self.path}.")
        return Conversation(self._database, stored)

    def latest(self) -> Conversation | None:
        """The conversation in which something was said last; None if there is none. Raises StoreError."""
        newest = self.page(size=1)
        return self.resume(newest[0].id) if newest else None

    def page(
        self, matching: str = "", *, after: Summary | None = None, size: int = 50, deleted: bool = False
    ) -> tuple[Summary, ...]:
        """Conversations, those where something was said last first. Raises StoreError.

        ``matching``: each of these words stands in the title, or each in one turn. ``after``: the last of the page
        before. ``deleted``: those that can still be brought back, instead of the others.
        """

        def read(connection: sqlite3.Connection, indexed: bool) -> tuple[Summary, ...]:
            found, values = search.condition(matching, indexed=indexed)
            before = (after.record.updated, after.id) if after is not None else ()
            query = f"""SELECT {RECORD_COLUMNS}, (SELECT count(*) FROM turns WHERE conversation = conversations.id)
                FROM conversations WHERE deleted IS {"NOT NULL" if deleted else "NULL"}
                AND {"(updated, id) < (?, ?)" if before else "TRUE"} AND {found}
                ORDER BY updated DESC, id DESC LIMIT ?"""
            return rows.summaries(connection.execute(query, (*before, *values, size)))

        def find(connection: sqlite3.Connection) -> tuple[Summary, ...]:
            if self._indexed:
                try:
                    return read(connection, indexed=True)
                except sqlite3.DatabaseError:  # the index may be all that is broken
                    search.renew(connection)
            return read(connection, indexed=False)

        return self._database.run(find)

    def prompts(self, limit: int = 1000) -> tuple[str, ...]:
        """What was asked in any conversation that is not deleted, newest first, each once. Raises StoreError."""
        return self._database.run(lambda connection: rows.prompts(connection, limit))

    def rename(self, conversation: str, title: str) -> None:
        """Give it a title; a blank one brings the first question back. Raises StoreError."""
        self._database.write([rows.change(conversation, name=" ".join(title.split()) or None)])

    def delete(self, conversation: str) -> None:
        """Have it no longer listed; for 30 days ``restore`` brings it back. Raises StoreError."""
        self._database.write([rows.change(conversation, deleted=time.time())])

    def restore(self, conversation: str) -> None:
        """Undo ``delete``. Raises StoreError."""
        self._database.write([rows.change(conversation, deleted=None)])

    def purge(self, kept_seconds: float = KEPT_DELETED_SECONDS) -> None:
        """Have what was deleted longer ago than this gone for good. Raises StoreError."""
        self._database.run(lambda connection: purge(connection, kept_seconds, indexed=self._indexed))

    def import_jsonl(self, lines: Iterable[str]) -> tuple[Conversation, ...]:
        """Keep conversations that ``to_jsonl`` told, as new ones beside all others: all of them, or none.

        Raises StoreError, also for a line that is none of a conversation's.
        """
        told = parse(lines, _new_name)
        self._database.add([each for stored in told for each in rows.put(stored)])
        self._database.run(search.index_new)
        return tuple(Conversation(self._database, stored) for stored in told)

    def save(self) -> None:
        """Try again to write what could not be written. Raises StoreError."""
        self._database.save()

    def close(self) -> None:
        """Save and let the file go; a later call opens it again. Break off a running reply first. Raises StoreError."""
        self._database.close()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._indexed = search.prepare(connection)
        with suppress(sqlite3.Error):  # it can wait, for instance until there is room on the disk
            tidy(connection, indexed=self._indexed)


def _new_name() -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(10))
