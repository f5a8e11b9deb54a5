"""Several stores, connections and threads at once: each sees what the others keep, and nobody loses anything."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from lade_chat.store.all_conversations import Store
from tests.store.replies import MODEL, STATISTICS, answer, finished, say, tokens


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


def test_who_asks_in_a_conversation_that_has_gone_on_elsewhere_is_told_each_time(folder: Path) -> None:
    one, two = Store(folder), Store(folder)
    conversation = one.begin()
    for question in ("one", "two"):
        say(conversation, question, "1")
    again = two.resume(conversation.id)
    say(again, "from two", "2")
    assert (one.notices, two.notices) == ((), ())
    say(conversation, "from one", "3")
    (line,) = one.notices
    assert "has gone on elsewhere" in line
    conversation.withdraw()
    say(conversation, "once more", "4")
    assert len(one.notices) == 1
    say(again, "from two again", "5")
    say(conversation, "and again", "6")
    assert (len(one.notices), len(two.notices)) == (2, 1)


def test_who_was_being_answered_as_it_went_on_elsewhere_is_told(folder: Path) -> None:
    one, two = Store(folder), Store(folder)
    conversation = one.begin()
    say(conversation, "one", "1")
    again = two.resume(conversation.id)
    conversation.ask("from one")
    say(again, "from two", "2")
    answer(conversation, "ended later")
    conversation.ask("on")
    assert len(one.notices) == 1
    conversation.withdraw(on_disk=False)
    conversation.retry()
    assert len(one.notices) == 1


def test_a_clock_that_is_set_back_is_no_other_window(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation, now = store.begin(), time.time()
    for hours in (0, 1, 2):
        monkeypatch.setattr("time.time", lambda hours=hours: now - 3600 * hours)
        say(conversation, "one", "1")
    assert store.notices == ()


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


# --- Killed at any moment: what was finished is there, and of a running reply all but the last moments

ROOT = Path(__file__).resolve().parents[2]
LOST_SECONDS = 0.25
"""Of a running reply, at most; a save is not done at once."""


@contextmanager
def speaker(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A talking program, killed at the end."""
    command = [sys.executable, "-m", "tests.store.speaker", str(folder), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str], lines: int) -> list[str]:
    """What it printed until it was killed, after so many lines and in the middle of something."""
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    # A line that was cut off tells nothing.
    return [line for line in (*told, *process.stdout) if line.endswith("\n")]


def turns(folder: Path) -> set[int]:
    with closing(sqlite3.connect(folder / "conversations.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {turn for (turn,) in connection.execute("SELECT id FROM turns WHERE ending = 'eos'")}


def test_every_finished_turn_is_there(folder: Path) -> None:
    told: set[int] = set()
    for lines in (1, 8, 30):
        with speaker(folder, "turns", "100000") as process:
            told |= {int(line) for line in heard(process, lines)}
    assert len(told) >= 39
    assert told <= turns(folder)


def test_a_running_reply_lacks_its_last_moments_at_most(folder: Path) -> None:
    with speaker(folder, "stream") as process:
        told = [line.split() for line in heard(process, 400)]
    moments = [float(moment) for _, moment in told]
    surely = sum(moment <= moments[-1] - LOST_SECONDS for moment in moments)
    assert surely > 0
    latest = Store(folder).latest()
    assert latest is not None
    before, running = latest.path
    assert (before.reply, before.ending) == ("finished", "eos")
    pieces = running.pieces()
    assert len(pieces) >= surely
    assert running.ending is None
    assert running.reply == "".join(f" {number}" for number in range(len(pieces) // 2))
    latest.go_on()
    latest.break_off()
    assert latest.messages[-1].content == running.reply


@pytest.mark.parametrize("begun_by_others", [False, True])
def test_programs_at_once_do_no_harm(folder: Path, begun_by_others: bool) -> None:
    if begun_by_others:
        Store(folder).page()
    with speaker(folder, "turns", "40") as one, speaker(folder, "turns", "40") as two:
        told = {int(line) for process in (one, two) for line in process.communicate()[0].splitlines()}
        assert (one.returncode, two.returncode) == (0, 0)
    assert turns(folder) == told
    assert len(told) == 80
    store = Store(folder)
    assert len(store.page()) == 28
    assert len(store.page("39")) == 2


def test_a_running_reply_is_saved_every_fifth_of_a_second(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    conversation = store.begin()
    conversation.ask("Count.", MODEL)
    for number in range(25):
        now = number / 50
        conversation.grow(tokens(f" {number}", first=number))
    seen = store.resume(conversation.id)
    assert seen.path[0].reply == "".join(f" {number}" for number in range(21))
    assert len(seen.path[0].packed) == 2
    conversation.save()
    (turn,) = store.resume(conversation.id).path
    assert turn.reply == "".join(f" {number}" for number in range(25))
    assert turn.pieces() == tuple(piece for number in range(25) for piece in tokens(f" {number}", first=number).pieces)
    assert (turn.ending, turn.statistics, turn.model) == (None, STATISTICS, MODEL)
    conversation.finish(finished())
    (turn,) = store.resume(conversation.id).path
    assert (len(turn.packed), turn.ending) == (1, "eos")
