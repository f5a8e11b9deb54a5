"""Conversations are listed newest first, page by page, renamed, deleted and brought back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lade_chat.store import tree
from lade_chat.store.all_conversations import RESTORABLE_SECONDS, Store
from lade_chat.store.errors import StoreError
from tests.store.replies import MODEL, answer, deleted_titles, fill, finished, purge, say, sql, titles, tokens


def test_a_thousand_conversations_are_paged_without_gap_or_double(store: Store) -> None:
    fill(store, 1200)
    pages = [store.page()]
    while len(pages[-1]) == 50:
        pages.append(store.page(after=pages[-1][-1]))
    listed = [summary.id for page in pages for summary in page]
    assert listed == [f"c{number:05}" for number in reversed(range(1200))]
    first = pages[0][0]
    assert (first.title, first.turns, first.record.model, first.record.updated) == ("title 1199", 1, MODEL, 1199)


def test_pages_stay_in_step_while_others_write(store: Store) -> None:
    fill(store, 60)
    page = store.page(size=50)
    say(store.begin(), "new", "n")
    assert [summary.id for summary in store.page(after=page[-1])] == [f"c{number:05}" for number in reversed(range(10))]


def test_where_something_was_said_last_is_first(store: Store) -> None:
    one, two = store.begin(), store.begin()
    say(one, "one", "1")
    say(two, "two", "2")
    say(one, "three", "3")
    assert titles(store) == ["one", "two"]
    latest = store.latest()
    assert latest is not None
    assert latest.id == one.id
    one.rename("renamed without saying anything")
    two.switch(two.turns[0].id)
    assert [summary.id for summary in store.page()] == [one.id, two.id]


def test_an_empty_store_has_nothing(store: Store) -> None:
    assert store.latest() is None
    assert store.page("anything") == ()
    assert store.prompts() == ()
    with pytest.raises(StoreError, match="no conversation \ufffd"):
        store.resume("\udcff")
    with pytest.raises(StoreError, match="no conversation nobody"):
        store.resume("nobody")


def test_the_chat_goes_on_with_its_own_latest_and_the_command_line_with_the_latest_of_all(
    store: Store, folder: Path
) -> None:
    def latest(of: Store) -> str:
        found = of.latest()
        assert found is not None
        return found.id

    command_line = Store(folder, chat=False)
    asked, held = command_line.begin(), store.begin()
    say(asked, "one", "1")
    assert latest(store) == asked.id  # better than none
    say(held, "two", "2")
    say(asked, "three", "3")
    assert (latest(store), latest(command_line)) == (held.id, asked.id)
    say(store.resume(asked.id), "four", "4")
    say(command_line.resume(asked.id), "five", "5")
    assert latest(store) == asked.id
    command_line.close()


def test_what_was_only_asked_on_the_command_line_is_listed_last(store: Store, folder: Path) -> None:
    command_line = Store(folder, chat=False)
    for name, of in (("one", store), ("two", command_line), ("three", store), ("four", command_line)):
        say(of.begin(), name, name)
    assert titles(store) == ["three", "one", "four", "two"]
    assert [page[0].title for page in (store.page(size=1, after=each) for each in store.page()[:3])] == titles(store)[
        1:
    ]
    command_line.close()


def test_a_title_can_be_changed_and_changed_back(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "What is a list?", "A row.")
    store.rename(conversation.id, "  All about\nlists ")
    assert titles(store) == ["All about lists"]
    say(conversation, "More?", "No.")
    assert titles(store) == ["All about lists"]
    store.rename(conversation.id, " ")
    assert titles(store) == ["What is a list?"]


def test_every_conversation_has_a_title_of_its_own(store: Store) -> None:
    for later in ("Sort a list.", "Sort a list.", None):
        conversation = store.begin()
        say(conversation, "Hello", "Hi!")
        if later is not None:
            say(conversation, later, "Sorted.")
    say(store.begin(), "Hullo", "Hi!")
    named = ["Hullo", "Hello (3)", "Hello (2) · Sort a list.", "Hello · Sort a list."]
    assert titles(store) == named
    newest, oldest = store.page()[1], store.page()[3]
    store.rename(newest.id, "Greeting")
    store.delete(oldest.id)
    assert titles(store) == ["Hullo", "Greeting", "Hello"]
    assert [each.record.title for each in store.page()] == titles(store)


def test_deleted_conversations_come_back_until_they_are_purged(store: Store) -> None:
    keep, gone = store.begin(), store.begin()
    say(keep, "keep", "k")
    say(gone, "gone", "secret words")
    store.delete(gone.id)
    assert (titles(store), deleted_titles(store), store.prompts()) == (["keep"], ["gone"], ("keep",))
    store.restore(gone.id)
    assert titles(store) == ["gone", "keep"]
    store.delete(gone.id)
    store.close()
    store.page()
    assert deleted_titles(store) == ["gone"]
    purge(store)
    assert deleted_titles(store) == []
    assert sql(store, "SELECT count(*) FROM turns") == [(1,)]
    assert sql(store, "SELECT rowid FROM grams WHERE grams MATCH 'sec'") == []
    sql(store, "INSERT INTO grams (grams) VALUES ('integrity-check')")


def test_long_deleted_conversations_go_when_the_file_is_opened(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store, 20)
    for summary in store.page():
        store.delete(summary.id)
    store.close()
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + RESTORABLE_SECONDS + 1)
    left = []
    for _ in range(3):
        store.page()
        left.append(len(deleted_titles(store)))
        store.close()
    assert left == [12, 4, 0]


def test_asking_in_a_deleted_conversation_brings_it_back(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("one")
    store.delete(conversation.id)
    conversation.break_off()
    assert titles(store) == []
    conversation.ask("two")
    assert titles(store) == ["one"]


def test_asking_in_a_purged_conversation_keeps_what_is_said_from_now_on(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    conversation.ask("two")
    store.delete(conversation.id)
    purge(store)
    conversation.grow(tokens("2"))
    conversation.save()
    conversation.finish(finished())
    say(conversation, "three", "3")
    again = store.resume(conversation.id)
    assert [turn.question for turn in again.path] == ["two", "three"]


def test_prompts_of_all_conversations_newest_first_each_once(store: Store) -> None:
    for question in ("one", "two", "one", "three"):
        say(store.begin(), question, "well")
    assert store.prompts() == ("three", "one", "two")
    assert store.prompts(2) == ("three", "one")
    conversation = store.latest()
    assert conversation is not None
    conversation.go_on()
    assert store.prompts(1) == ("three",)


def test_replies_of_killed_programs_are_folded_after_a_day(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = store.begin()
    conversation.ask("question", MODEL)
    for number in range(3):
        conversation.grow(tokens(f" needle{number}", first=number))
        conversation.save()
    before = store.resume(conversation.id).turns
    assert titles(store, "needle2") == []
    store.close()
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 48 * 3600)
    assert titles(store, "needle2") == ["question"]
    (after,) = store.resume(conversation.id).turns
    assert (len(before[0].packed), len(after.packed)) == (3, 1)
    assert (after.reply, after.pieces(), after.step_seconds(), after.statistics) == (
        before[0].reply,
        before[0].pieces(),
        before[0].step_seconds(),
        before[0].statistics,
    )
    conversation.break_off()
    assert store.resume(conversation.id).turns == conversation.turns


def test_a_list_counts_the_turns_of_the_path_and_neither_alternatives_nor_continuations(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    say(conversation, "two", "2")
    conversation.retry()
    answer(conversation, "three", "length")
    conversation.go_on()
    answer(conversation, "four")
    assert len(conversation.turns) == 5
    assert store.page()[0].turns == 2
    conversation.branch(None)
    assert store.page()[0].turns == 0


@pytest.mark.parametrize(
    ("question", "title"),
    [("\n\n  one \t two\nthree", "one two"), ("", ""), ("x" * 100, "x" * 79 + "…")],
)
def test_the_title_is_the_first_line_said(question: str, title: str) -> None:
    assert tree.opening(question) == title
