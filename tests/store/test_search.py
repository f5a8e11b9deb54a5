"""Conversations are found by words said in them."""

from __future__ import annotations

import sqlite3

import pytest

from lade_chat.store import search
from lade_chat.store.all_conversations import Store
from lade_chat.store.search import pattern
from tests.store.replies import fill, index, purge, say, sql, titles, tokens


@pytest.fixture(params=["indexed", "without an index"])
def either(request: pytest.FixtureRequest, store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with the index, and one of a Python whose SQLite has no FTS5."""
    if request.param != "indexed":
        prepare = search.prepare

        def without(connection: sqlite3.Connection) -> bool:
            assert prepare(connection)
            connection.execute("DROP TABLE grams")
            return False

        monkeypatch.setattr(search, "prepare", without)
    return store


@pytest.mark.parametrize(
    ("matching", "found"),
    [
        ("merge", {"Sort a list"}),
        ("MERGE sort", {"Sort a list"}),
        ("sort zebra", set()),
        ("list", {"Sort a list", "Bread"}),
        ("a", {"Sort a list", "Bread", "Straße in 東京", "50% of %_"}),
        ("東京", {"Straße in 東京"}),
        ("大阪城の", {"Straße in 東京"}),
        ("STRASSE", {"Straße in 東京"}),
        ("50% _", {"50% of %_"}),
        ('"quoted" AND', {"50% of %_"}),
        ("\0", {"Sort a list", "Bread", "Straße in 東京", "50% of %_"}),
        ("grams MATCH *", set()),
        ("bread \udcff", set()),
        ("x " * 500 + "y" * 500, set()),
    ],
)
def test_each_word_is_found_anywhere(either: Store, matching: str, found: set[str]) -> None:
    for question, reply in (
        ("Sort a list", "Use merge sort."),
        ("Bread", "Flour, water; the list ends."),
        ("Straße in 東京", "Auch 大阪城のそば, naturally."),
        ("50% of %_", 'half, "quoted" AND so on'),
    ):
        say(either.begin(), question, reply)
    assert set(titles(either, matching)) == found


def test_whole_words_come_before_parts_of_words_page_by_page(either: Store) -> None:
    for question in ("Count from 3 to 40.", "Say it.", "Count from 1 to 30.", "Account from 33?"):
        say(either.begin(), question, "3 from the count" if question == "Say it." else "1, 2")
    wanted = ["Say it.", "Count from 3 to 40.", "Account from 33?", "Count from 1 to 30."]
    assert titles(either, "Count from 3") == wanted
    found, after = list[str](), None
    while page := either.page("count from 3", after=after, size=1):
        after = page[-1]
        found.append(after.title)
    assert found == wanted


def test_words_are_found_in_one_turn_or_in_the_title(either: Store) -> None:
    conversation = either.begin()
    say(conversation, "apples", "red")
    say(conversation, "pears", "green")
    conversation.rename("Fruit of the year")
    for matching, count in (("apples red", 1), ("apples green", 0), ("year fruit", 1), ("fruit apples", 0)):
        assert len(either.page(matching)) == count, matching


def test_a_reply_that_is_still_written_is_found_when_it_has_ended(either: Store) -> None:
    conversation = either.begin()
    conversation.ask("question")
    assert titles(either, "question") == ["question"]
    conversation.grow(tokens("needle in a haystack"))
    conversation.break_off()
    assert titles(either, "needle") == ["question"]


def test_what_the_index_lacks_is_found_all_the_same(store: Store) -> None:
    fill(store, 3)
    assert titles(store, "answer 15838") == ["title 2"]
    index(store)
    assert titles(store, "answer 15838") == ["title 2"]
    assert sql(store, "SELECT count(*) FROM turns WHERE indexed") == [(3,)]


def test_a_broken_index_is_made_anew(store: Store) -> None:
    fill(store, 5)
    index(store)
    sql(store, "UPDATE grams_data SET block = x'00000004ffffffff'")
    assert titles(store, "answer 15838") == ["title 2"]
    assert store.notices == ()
    say(store.begin(), "new", "needle")
    assert sql(store, "SELECT count(*) FROM turns WHERE indexed") == [(6,)]
    assert titles(store, "needle") == ["new"]
    store.delete("c00002")
    purge(store)
    assert titles(store, "answer 15838") == []


def test_a_match_in_a_turn_is_shown_with_the_words_around_it(either: Store) -> None:
    conversation = either.begin()
    say(conversation, "What grows here?", "Nothing yet.")
    say(conversation, "And in spring?", f"{'Grass, ' * 50}\n\nand then APPLES,  red ones.")
    (found,) = either.page("red apples")
    assert found.excerpt.endswith("Grass, and then APPLES, red ones.")
    assert found.excerpt.startswith("…Grass")
    assert len(found.excerpt) < 80
    assert [match[0] for match in pattern("red apples").finditer(found.excerpt)] == ["APPLES", "red"]
    assert either.page("spring")[0].excerpt == "And in spring?"
    assert [each.excerpt for search in ("", "grows") for each in either.page(search)] == ["", ""]  # the title tells
