"""Several stores, connections and threads at once: each sees what the others keep, and nobody loses anything."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lade_chat.store.store import Store
from tests.store.replies import answer, finished, say, tokens


def at_once(*works: Callable[[], None]) -> None:
    """Run all in threads of their own; the first error is raised here."""
    errors: list[BaseException] = []

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def say_one(store: Store) -> None:
    say(store.begin(), "one", "1")


def test_two_stores_see_each_other(folder: Path) -> None:
    one, two = Store(folder), Store(folder)
    conversation = one.begin()
    say(conversation, "one", "1")
    again = two.resume(conversation.id)
    say(again, "from two", "2")
    say(conversation, "from one", "3")
    third = one.resume(conversation.id)
    assert {turn.question for turn in third.turns} == {"one", "from one", "from two"}
    assert [turn.question for turn in third.path] == ["one", "from one"]
    assert two.page()[0].turns == 2  # the alternative does not count
    one.close()
    say(again, "still here", "4")
    assert len(one.resume(conversation.id).turns) == 4


def test_a_running_reply_is_seen_as_far_as_it_is_saved_and_never_overwritten(folder: Path) -> None:
    one, two = Store(folder), Store(folder)
    conversation = one.begin()
    conversation.ask("question")
    conversation.grow(tokens("as far"))
    conversation.save()
    seen = two.resume(conversation.id)
    assert (seen.path[0].reply, seen.path[0].ending) == ("as far", None)
    conversation.grow(tokens(" as this", first=2))
    conversation.finish(finished())
    say(seen, "next", "n")
    seen.rename("by two")
    after = one.resume(conversation.id)
    assert [turn.reply for turn in after.path] == ["as far as this", "n"]
    assert after.title == "by two"


def test_threads_of_one_store(folder: Path) -> None:
    store = Store(folder)

    def talk() -> None:
        conversation = store.begin()
        for number in range(10):
            say(conversation, f"question {number}", f"answer {number}")
            assert store.page("question", size=3)
        assert store.resume(conversation.id).turns == conversation.turns

    at_once(*[talk] * 4)
    assert sum(summary.turns for summary in store.page()) == 40


def test_threads_of_one_conversation(folder: Path) -> None:
    store = Store(folder)
    conversation = store.begin()
    conversation.ask("question")
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            conversation.grow(tokens(f" {number}", first=number))
        conversation.finish(finished())
        for number in range(20):
            conversation.retry()
            answer(conversation, str(number))
        done.set()

    def save() -> None:
        while not done.is_set():
            conversation.save()
            time.sleep(0.001)

    def look() -> None:
        while not done.is_set():
            assert conversation.messages[0].content == "question"
            assert conversation.last in conversation.turns
            time.sleep(0.001)

    at_once(write, save, look)
    assert store.resume(conversation.id).turns == conversation.turns
    assert conversation.turns[0].reply == "".join(f" {number}" for number in range(200))


def test_who_looks_while_a_question_is_taken_back_sees_a_whole_conversation(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = Store(folder).begin()
    first = say(conversation, "one", "1")
    conversation.enqueue("waits", 1)
    seen: list[int] = []

    def opening(_question: str) -> str:
        assert conversation.last is not None
        seen.extend(turn.id for turn in conversation.path)
        return ""

    monkeypatch.setattr("lade_chat.store.tree.opening", opening)
    conversation.withdraw(1)
    assert seen == [first, 1]
    assert [turn.id for turn in conversation.path] == [first]


def test_stores_that_open_a_new_file_at_once(folder: Path) -> None:
    stores = [Store(folder) for _ in range(6)]
    at_once(*(partial(say_one, store) for store in stores))
    assert len(Store(folder).page()) == 6
