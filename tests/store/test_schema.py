"""Files of earlier versions are brought forward, entirely or not at all; only their owner may read them."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from lade_chat.store import tree
from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError
from lade_chat.store.sqlite import database_files, schema
from lade_chat.store.sqlite.database_files import default_folder
from tests.store.replies import LONG, finished, index, replies, say, sql, tokens


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


# --- A damaged file of conversations is set aside whole; a newer version's is told, and left as it is


def set_aside(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("conversations-*.db"))


def make_newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")


def test_a_newer_file_is_told_and_left_as_it_is(store: Store, folder: Path) -> None:
    say(store.begin(), "one", "1")
    store.close()
    make_newer(store.path)
    content = store.path.read_bytes()
    older = Store(folder)
    with pytest.raises(StoreError, match="written by a newer lade-chat, and are left as they are") as refused:
        older.latest()
    assert "update lade-chat" in str(refused.value)
    conversation = older.begin()
    with pytest.raises(StoreError, match="newer"):
        conversation.ask("two")
    assert older.would_lose
    with pytest.raises(StoreError, match="newer"):
        older.close()
    assert store.path.read_bytes() == content
    assert set_aside(folder) == []


def test_what_waits_is_written_once_the_file_can_be_read_again(store: Store, folder: Path) -> None:
    say(store.begin(), "one", "1")
    store.close()
    make_newer(store.path)
    older = Store(folder)
    conversation = older.begin()
    with pytest.raises(StoreError, match="newer"):
        conversation.ask("two")
    store.path.rename(folder / "elsewhere.db")
    older.save()
    assert not older.would_lose
    latest = Store(folder).latest()
    assert latest is not None
    assert [turn.question for turn in latest.turns] == ["two"]


@pytest.mark.parametrize("harm", ["header", "cut off", "pages", "schema", "text", "another program's"])
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
    elif harm == "schema":
        store.path.write_bytes(content.replace(b"NOT NULL", b"NOT N\xf5LL"))
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


def test_a_byte_that_a_disk_has_spoilt_costs_that_character_alone(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "first question", "before spoilt behind")
    index(store)
    sql(store, "UPDATE conversations SET opening = CAST(replace(opening, 'first', x'66ff') AS TEXT)")
    sql(store, "UPDATE turns SET reply = CAST(replace(reply, 'spoilt', x'73ff') AS TEXT), ending = 'no such end'")
    for matching in ("", "question", "behind"):
        (found,) = store.page(matching)
        assert found.title == "f\N{REPLACEMENT CHARACTER} question"
    (turn,) = store.resume(conversation.id).turns
    assert (turn.reply, turn.ending) == ("before s\N{REPLACEMENT CHARACTER} behind", None)


def test_a_damaged_index_is_made_anew(store: Store, folder: Path) -> None:
    for number in range(3):
        say(store.begin(), f"question {number}", "answer")
    store.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'turns_created'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        (last,) = connection.execute("SELECT max(id) FROM turns").fetchone()
    content = bytearray(store.path.read_bytes())
    row = content.index(last.to_bytes(7, "big"), (root - 1) * size, root * size)
    content[row + 6] ^= 1  # another row's number
    store.path.write_bytes(content)
    assert len(store.prompts()) == 3
    assert len(store.page()) == 3
    assert store.notices == ()
    assert set_aside(folder) == []


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
    monkeypatch.setattr(database_files, "LOCK_TIMEOUT_SECONDS", 0.05)
    conversation = store.begin()
    say(conversation, "one", "1")
    monkeypatch.setattr("lade_chat.store.sqlite.schema.APPLICATION_ID", 1)  # it reads as another program's
    other = Store(folder)
    with pytest.raises(StoreError, match="another lade-chat has them open: close it, or choose another folder"):
        other.page()
    say(conversation, "two", "2")
    assert set_aside(folder) == []
    store.close()
    assert other.page() == ()
    assert len(set_aside(folder)) == 1


def test_it_waits_while_another_program_sets_a_file_aside(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database_files, "LOCK_TIMEOUT_SECONDS", 0.05)
    store.page()
    store.close()
    alone = database_files.FileLock(folder / "conversations.lock")
    assert alone.take(exclusive=True)
    with pytest.raises(StoreError, match=r"keeps .* locked"):
        store.page()
    alone.release()
    assert store.page() == ()


def test_a_circle_of_turns_is_walked_once(store: Store) -> None:
    conversation = store.begin()
    first, second = say(conversation, "one", "1"), say(conversation, "two", "2")
    turns = {turn.id: turn for turn in conversation.turns}
    turns[first] = msgspec.structs.replace(turns[first], parent=second)
    assert [turn.id for turn in tree.path_to(turns, second)] == [first, second]
    assert tree.newest_leaf(turns, second) in (first, second)


def test_a_conversation_outlives_its_file_where_the_new_one_is_given_its_number(tmp_path: Path) -> None:
    store = Store(tmp_path)
    conversation = store.begin()
    say(conversation, "one", "1")
    for path in tmp_path.iterdir():
        path.unlink()
    say(conversation, "two", "2")
    store.close()
    assert Store(tmp_path).resume(conversation.id).turns == conversation.turns
