"""A full disk, a folder that nobody may write: one clear line, and nothing is lost."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError
from lade_chat.store.saved_conversation import Conversation
from tests.running import file_size_limit
from tests.store.replies import LONG, MODEL, answer, finished, replies, say, tokens

ROOM = 2 * 1024 * 1024


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "lade-chat-test", str(tmp_path)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("disks cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the room that is left."""
    path = disk / "filler"
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    return path


def say_much(conversation: Conversation) -> None:
    for _ in range(100):
        say(conversation, "question", LONG)


# --- no WAL --------------------------------------------------------------------------------------------------------


class Network(sqlite3.Connection):
    """A connection over a file system without what WAL needs."""

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if "journal_mode = WAL" in sql:
            raise sqlite3.OperationalError("locking protocol")
        return super().execute(sql, *values)


def test_a_file_system_without_wal_does(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr("sqlite3.connect", lambda *values, **options: connect(*values, factory=Network, **options))
    store = Store(folder)
    conversation = store.begin()
    say(conversation, "one", "1")
    assert Store(folder).resume(conversation.id).path == conversation.path
    assert not store.unsaved


# --- no room -------------------------------------------------------------------------------------------------------


def test_a_disk_that_becomes_full_loses_nothing(disk: Path) -> None:
    store = Store(disk / "data")
    conversation = store.begin()
    say(conversation, "before", "b")
    filler = fill(disk)
    with pytest.raises(StoreError, match="no room left on the disk"):
        say_much(conversation)
    conversation.grow(tokens(LONG))
    with pytest.raises(StoreError, match=r"stays in memory and is tried again: make room\.$"):
        conversation.finish(finished())
    said = [turn.reply for turn in conversation.path]
    assert said[-1] == LONG
    assert store.unsaved
    assert replies(store)[0] == "b"
    filler.unlink()
    store.save()
    assert not store.unsaved
    assert replies(Store(disk / "data")) == said


def test_a_disk_that_was_full_from_the_start(disk: Path) -> None:
    filler = fill(disk)
    store = Store(disk / "data")
    with pytest.raises(StoreError, match="no room left"):
        store.page()
    conversation = store.begin()
    with pytest.raises(StoreError, match="no room left"):
        conversation.ask("question", MODEL)
    conversation.grow(tokens("answer"))
    with pytest.raises(StoreError, match="no room left"):
        conversation.save()
    with pytest.raises(StoreError, match="no room left"):
        conversation.finish(finished())
    with pytest.raises(StoreError, match="no room left"):
        store.close()
    filler.unlink()
    store.close()
    assert replies(store) == ["answer"]


def test_a_file_that_may_not_grow(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "before", "b")
    with file_size_limit(store.path.with_name(f"{store.path.name}-wal").stat().st_size):
        with pytest.raises(StoreError, match=r"can be written to the disk of .*: your quota may be used up\."):
            say_much(conversation)
        assert replies(store)[0] == "b"
        conversation.grow(tokens("answer"))
        with pytest.raises(StoreError, match="quota"):
            conversation.finish(finished())
    store.save()
    assert replies(store) == ["b", "answer"]


def test_a_running_reply_is_saved_when_there_is_room_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[sqlite3.Connection] = []

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(sqlite3.Connection(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr("lade_chat.store.sqlite.database.sqlite3.connect", connect)
    conversation = store.begin()
    conversation.ask("question", MODEL)
    (connection,) = opened
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    conversation.grow(tokens(LONG))
    with pytest.raises(StoreError, match="no room left"):
        conversation.save()
    conversation.grow(tokens(" at last", first=1000))
    connection.execute("PRAGMA max_page_count = 1000000")
    conversation.save()
    assert replies(store) == [f"{LONG} at last"]
    conversation.finish(finished())
    assert replies(store) == [conversation.path[0].reply]


# --- nothing can be written ----------------------------------------------------------------------------------------


def test_a_folder_that_becomes_read_only(disk: Path) -> None:
    store = Store(disk / "data")
    conversation = store.begin()
    say(conversation, "before", "b")
    store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(
        StoreError, match=r"cannot be saved in .*/data \(.*\)\. .*make the folder writable, or .*--data-dir"
    ):
        conversation.ask("question", MODEL)
    with pytest.raises(StoreError, match="cannot be saved"):
        answer(conversation, "answer")
    assert [message.content for message in conversation.messages] == ["before", "b", "question", "answer"]
    subprocess.run(["mount", "-o", f"remount,rw,size={ROOM}", str(disk)], check=True)
    store.save()
    assert replies(Store(disk / "data")) == ["b", "answer"]


def test_a_folder_that_may_not_be_written(unprivileged: Path) -> None:
    (unprivileged / "data").mkdir(mode=0o500)
    with pytest.raises(StoreError, match="make the folder writable"):
        Store(unprivileged / "data").page()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file" / "data")
    conversation = store.begin()
    with pytest.raises(StoreError, match="cannot be saved in"):
        conversation.ask("question")
    (tmp_path / "file").unlink()
    answer(conversation, "answer")
    assert replies(store) == ["answer"]


def test_a_working_folder_that_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    monkeypatch.chdir(folder.parent)
    store = Store(Path(folder.name))
    monkeypatch.chdir(folder)
    say(store.begin(), "one", "1")
    assert replies(Store(folder)) == ["1"]


def test_a_file_that_another_program_locks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.store.sqlite.database.BUSY_SECONDS", 0.05)
    conversation = store.begin()
    say(conversation, "one", "1")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"Another program keeps .* locked"):
            conversation.ask("two")
        assert replies(store) == ["1"]
    answer(conversation, "2")
    assert replies(store) == ["1", "2"]


def test_a_reply_does_not_wait_for_a_locked_file_at_every_token(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.store.sqlite.database.BUSY_SECONDS", 0.02)
    monkeypatch.setattr("lade_chat.store.sqlite.database.LOCKED_SECONDS", 0.02)
    monkeypatch.setattr("lade_chat.store.reply_saver.SAVE_SECONDS", 0.02)
    conversation = store.begin()
    conversation.ask("one", MODEL)
    failed = 0
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        time.sleep(0.02)
        for number in range(10):
            try:
                conversation.grow(tokens(f" {number}", first=number))
            except StoreError:
                failed += 1
    assert 0 < failed < 5
    conversation.finish(finished())
    assert replies(store) == [" 0 1 2 3 4 5 6 7 8 9"]


def test_a_locked_file_is_waited_for_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.store.sqlite.database.BUSY_SECONDS", 0.15)
    monkeypatch.setattr("lade_chat.store.sqlite.database.LOCKED_SECONDS", 0.001)
    conversation = store.begin()
    say(conversation, "one", "1")
    waited = []
    for _ in range(2):  # once it is free, the next lock is waited for again
        with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(4):
                began = time.monotonic()
                with pytest.raises(StoreError, match="locked"):
                    conversation.rename("another")
                waited.append(time.monotonic() - began >= 0.14)
                assert store.page()
        store.save()
    assert waited == 2 * [True, False, False, False]
    assert store.page()[0].title == "another"
