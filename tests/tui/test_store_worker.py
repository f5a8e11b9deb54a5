"""The store's worker thread: what goes wrong in one job is told, and the next is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from lade_chat.store.all_conversations import Store
from lade_chat.tui.conversations.store_worker import StoreTask, StoreWorker
from tests.store.replies import MODEL, answer, say


class Screen:
    """Stands for the screen's thread, in which results are delivered."""

    def __init__(self, folder: Path) -> None:
        self._calls: SimpleQueue[StoreTask] = SimpleQueue()
        self.told: list[str] = []
        self.worker = StoreWorker(Store(folder), self._calls.put, lambda text, _kind: self.told.append(text))

    def deliver(self) -> None:
        """Deliver the results of all jobs."""
        while self.worker.busy:
            self._calls.get(timeout=5)()


@pytest.fixture
def screen(folder: Path) -> Iterator[Screen]:
    shown = Screen(folder)
    yield shown
    shown.worker.close()


def test_a_job_that_fails_unexpectedly_is_told_and_the_next_is_done(screen: Screen) -> None:
    done: list[str] = []

    def fail() -> None:
        raise KeyError("lost")

    screen.worker.change(fail, lambda: done.append("changed"))
    screen.worker.look_up(fail, lambda _found: done.append("found"), lambda: done.append("not found"))
    screen.worker.look_up(screen.worker.store.page, lambda page: done.append(f"{len(page)} found"))
    screen.deliver()
    assert done == ["changed", "not found", "0 found"]
    assert "KeyError: 'lost' is not known" in screen.told[0]


def test_an_alternative_of_a_turn_that_was_left_meanwhile_is_not_gone_to(screen: Screen) -> None:
    conversation = screen.worker.store.begin()
    first, below = (say(conversation, question, "a") for question in ("one", "below one"))
    conversation.retry(MODEL, turn=below)
    answer(conversation, "b")
    conversation.edit(first, "two", MODEL)
    answer(conversation, "c")
    conversation.switch(below)
    assert conversation.switch_beside(first, 1)
    assert not conversation.switch_beside(below, 1)
    assert [turn.question for turn in conversation.path] == ["two"]
    assert screen.told == []
