"""Files of earlier versions are brought forward, entirely or not at all; only their owner may read them."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from lade_chat.store.errors import StoreError
from lade_chat.store.sqlite import schema
from lade_chat.store.sqlite.files import default_folder
from lade_chat.store.store import Store
from tests.store.replies import say, sql


def version(store: Store) -> int:
    return int(sql(store, "PRAGMA user_version")[0][0])


def test_an_earlier_file_is_brought_forward(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    before = version(store)
    store.close()

    def next_one(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE conversations ADD COLUMN pinned INTEGER")

    def last(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE conversations SET pinned = 1")

    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, next_one, last])
    assert store.resume(conversation.id).turns == conversation.turns
    assert version(store) == before + 2
    assert sql(store, "SELECT pinned FROM conversations") == [(1,)]
    assert store.notices == ()


def test_a_migration_that_fails_changes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    before = version(store)
    store.close()

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE chunks")
        connection.execute("SELECT * FROM nowhere")

    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, broken])
        with pytest.raises(StoreError, match="nowhere"):
            store.latest()
    assert version(store) == before
    assert store.resume(conversation.id).turns == conversation.turns


@pytest.mark.skipif(os.name != "posix", reason="no such permissions here")
def test_only_the_owner_may_read(store: Store, folder: Path) -> None:
    before = os.umask(0)
    try:
        say(store.begin(), "one", "1")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == dict.fromkeys(
        ("conversations.db", "conversations.db-shm", "conversations.db-wal", "conversations.lock"), 0o600
    )
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    store.close()
    store.path.chmod(0o644)
    folder.chmod(0o755)
    store.page()
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def test_the_platform_says_where_data_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder().name == "lade-chat"
    assert Store().path == default_folder() / "conversations.db"
    assert not Store().path.exists()
