"""A full disk, a folder that nobody may write, a damaged or newer file: one clear line, and nothing is lost."""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from lade_chat.store.conversation import Conversation
from lade_chat.store.errors import StoreError
from lade_chat.store.sqlite import lock
from lade_chat.store.store import Store
from tests.store.replies import MODEL, answer, finished, say, tokens

ROOM = 2 * 1024 * 1024
LONG = " ".join(f"word{number * 7919 % 10_007}" for number in range(1000))


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


def replies(store: Store) -> list[str]:
    latest = store.latest()
    return [turn.reply for turn in latest.path] if latest is not None else []


def set_aside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("conversations-*.db"))


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


# --- a file that cannot be used ------------------------------------------------------------------------------------


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def test_a_newer_file_is_set_aside_whole(store: Store, folder: Path) -> None:
    for number in (1, 2):
        say(store.begin(), "one", "1")
        store.close()
        make_newer(store.path)
        content = store.path.read_bytes()
        store = Store(folder)
        assert store.latest() is None
        (aside,) = [path for path in set_aside(folder) if path.read_bytes() == content]
        assert store.notices == (
            "The conversations kept so far were written by a newer lade-chat: "
            f"they were set aside as {aside}, and a new file was begun.",
        )
        assert re.fullmatch(r"conversations-\d{4}-\d\d-\d\d-newer(-2)?\.db", aside.name)
        assert len(set_aside(folder)) == number


def test_the_last_changes_of_a_newer_file_go_with_it(store: Store, folder: Path) -> None:
    say(store.begin(), "one", "1")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("PRAGMA wal_autocheckpoint = 0")
    other.execute("PRAGMA user_version = 99")
    copies = {path.name: path.read_bytes() for path in folder.iterdir()}
    other.close()
    store.close()
    for name, content in copies.items():  # as a killed program would have left them
        (folder / name).write_bytes(content)
    assert Store(folder).page() == ()
    with closing(sqlite3.connect(set_aside(folder)[0])) as connection:
        assert connection.execute("SELECT reply FROM turns").fetchall() == [("1",)]


@pytest.mark.parametrize("harm", ["header", "cut off", "pages", "text", "another program's"])
def test_a_damaged_file_is_set_aside(store: Store, folder: Path, harm: str) -> None:
    for number in range(8):
        say(store.begin(), f"question {number}", LONG)
    store.close()
    content = store.path.read_bytes()
    if harm == "header":
        store.path.write_bytes(b"\0" * 100 + content[100:])
    elif harm == "cut off":
        store.path.write_bytes(content[: len(content) // 2 + 100])
    elif harm == "pages":
        store.path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    elif harm == "text":
        store.path.write_text("not a database at all\n" * 500)
    else:
        store.path.unlink()
        with closing(sqlite3.connect(store.path)) as connection:
            connection.execute("CREATE TABLE songs (name TEXT)")
    before = store.path.read_bytes()
    store = Store(folder)
    store.page("question")
    for summary in store.page():
        store.resume(summary.id)
    say(store.begin(), "new", "n")
    (aside,) = set_aside(folder)
    assert aside.read_bytes() == before
    assert store.notices == (
        f"The conversations kept so far are damaged: they were set aside as {aside}, and a new file was begun.",
    )
    assert replies(Store(folder)) == ["n"]


def test_a_conversation_in_use_outlives_the_damage(store: Store, folder: Path) -> None:
    conversation = store.begin("Be brief.")
    say(conversation, "one", LONG)
    store.close()
    store.path.write_bytes(b"\xff" * store.path.stat().st_size)
    say(conversation, "two", "2")
    assert len(store.notices) == 1
    assert len(set_aside(folder)) == 1
    again = Store(folder).latest()
    assert again is not None
    assert (again.turns, again.about) == (conversation.turns, conversation.about)


def test_a_conversation_in_use_outlives_its_file(store: Store, folder: Path) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    conversation.ask("two")
    conversation.grow(tokens("as far"))
    conversation.save()
    for path in folder.iterdir():
        path.unlink()
    conversation.grow(tokens(" as this", first=2))
    conversation.save()
    assert replies(Store(folder)) == ["1", "as far as this"]
    conversation.finish(finished())
    again = Store(folder).latest()
    assert again is not None
    assert again.turns == conversation.turns


def test_nothing_is_set_aside_beneath_another_program(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT_SECONDS", 0.05)
    conversation = store.begin()
    say(conversation, "one", "1")
    make_newer(store.path)
    other = Store(folder)
    with pytest.raises(StoreError, match="another has them open: close it, or choose another folder"):
        other.page()
    say(conversation, "two", "2")
    assert set_aside(folder) == []
    store.close()
    assert other.page() == ()
    assert len(set_aside(folder)) == 1


def test_it_waits_while_another_program_sets_a_file_aside(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOCK_TIMEOUT_SECONDS", 0.05)
    store.page()
    store.close()
    alone = lock.FileLock(folder / "conversations.lock")
    assert alone.take_exclusive()
    with pytest.raises(StoreError, match=r"keeps .* locked"):
        store.page()
    alone.release()
    assert store.page() == ()
