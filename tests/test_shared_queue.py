"""Tabs that share an engine: turns, caches, stops, loads, and a socket that nobody else gets into."""

from __future__ import annotations

import threading

import pytest

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.engine.sharing.tab_server import MAX_CACHED, SharedQueue, TabEngine
from lade_chat.protocol.commands import Load, Prefill, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, ReplyFinished, ReplyStarted, Tokens, Waiting
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from tests.turns_engine import LOAD, PATIENCE, TurnsEngine, answers, ask, cache_of, info, served, wait_for


@pytest.fixture
def engine() -> TurnsEngine:
    return TurnsEngine()


@pytest.fixture
def shared(engine: TurnsEngine) -> SharedQueue:
    return served(engine)


class Asking(threading.Thread):
    """Asks in a thread of its own, and keeps what comes."""

    def __init__(self, tab: TabEngine, text: str) -> None:
        super().__init__(daemon=True)
        self.events: list[Event] = []
        self.job = Job(ask(text))
        self._tab = tab
        self.start()

    def run(self) -> None:
        for event in self._tab.handle(self.job):
            self.events.append(event)


# --- turns --------------------------------------------------------------------------------------------------------


def test_each_tab_has_its_own_cache(shared: SharedQueue) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    mine, other = cache_of(first), cache_of(second)
    assert mine != other
    assert (cache_of(first), cache_of(second), cache_of(second)) == (mine, other, other)


def test_no_more_caches_are_kept_than_there_may_be(shared: SharedQueue) -> None:
    tabs = [shared.open_tab() for _ in range(MAX_CACHED + 2)]
    answers(tabs[0], LOAD)
    before = [cache_of(tab) for tab in tabs]
    assert cache_of(tabs[-1]) == before[-1]
    assert cache_of(tabs[-2]) == before[-2]
    assert cache_of(tabs[0]) not in before


def test_the_tabs_take_turns(shared: SharedQueue, engine: TurnsEngine) -> None:
    tabs = [shared.open_tab() for _ in range(3)]
    answers(tabs[0], LOAD)
    running = Asking(tabs[0], "wait 0")
    wait_for(engine.entered.is_set)
    waiting = []
    for number in (1, 2):
        waiting.append(Asking(tabs[number], f"first of {number}"))
        wait_for(lambda: waiting[-1].events)
    engine.go.set()
    for thread in (running, *waiting):
        thread.join(PATIENCE)
    assert engine.log == ["wait 0", "first of 1", "first of 2"]
    assert [event.ahead for event in waiting[1].events if isinstance(event, Waiting)] == [2, 1]


def test_lookahead_is_switched_for_one_who_waits(shared: SharedQueue, engine: TurnsEngine) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    running = Asking(first, "wait")
    wait_for(engine.entered.is_set)
    waiting = Asking(second, "hello")
    wait_for(lambda: waiting.events)
    waiting.job.set_lookahead(False)
    assert running.job.lookahead
    engine.go.set()
    for thread in (running, waiting):
        thread.join(PATIENCE)
    assert engine.lookahead is False


def test_one_who_waits_may_give_up_without_waiting(shared: SharedQueue, engine: TurnsEngine) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    running = Asking(first, "wait")
    wait_for(engine.entered.is_set)
    waiting = Asking(second, "never asked")
    wait_for(lambda: waiting.events)
    waiting.job.stop()
    waiting.join(PATIENCE)
    told, event = waiting.events
    assert told == Waiting(1)
    assert isinstance(event, ReplyFinished)
    assert event.finish_reason == "cancelled"
    assert not running.job.stopped
    running.job.stop()
    running.join(PATIENCE)
    assert isinstance(running.events[-1], ReplyFinished)
    assert engine.log == ["wait"]


def test_a_tab_that_closes_ends_its_reply(shared: SharedQueue, engine: TurnsEngine) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    Asking(first, "wait")
    wait_for(engine.entered.is_set)
    shared.close_tab(first)
    assert cache_of(second)


def test_a_paused_tab_goes_on_when_another_asks(shared: SharedQueue, engine: TurnsEngine) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    running = Asking(first, "wait")
    wait_for(engine.entered.is_set)
    running.job.pause()
    assert not running.job.may_step()
    waiting = Asking(second, "hello")
    wait_for(lambda: waiting.events)
    assert running.job.may_step()
    running.job.pause()
    assert running.job.may_step()
    engine.go.set()
    running.join(PATIENCE)
    waiting.join(PATIENCE)


def test_a_paused_tab_stays_paused_while_another_only_types(shared: SharedQueue, engine: TurnsEngine) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    running = Asking(first, "wait")
    wait_for(engine.entered.is_set)
    running.job.pause()
    shared.submit(second, Job(Prefill((Message("user", "hel"),), DecodingOptions())))
    assert not running.job.may_step()
    running.job.resume()
    engine.go.set()
    running.join(PATIENCE)


def test_an_error_is_reported_to_its_tab_and_the_next_command_is_served(shared: SharedQueue) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    assert answers(first, ask("breaks")) == [Failed("RuntimeError: it broke")]
    assert cache_of(second)


# --- models -------------------------------------------------------------------------------------------------------


def test_a_tab_begins_with_the_model_that_is_there(shared: SharedQueue) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    assert answers(first, Load(ModelOptions("mine"))) == [Loaded(info("mine"))]
    assert answers(second, LOAD) == [Loaded(info("mine"))]


def test_another_model_is_for_one_who_is_alone(shared: SharedQueue) -> None:
    first, second = shared.open_tab(), shared.open_tab()
    answers(first, LOAD)
    answers(second, LOAD)
    (refused,) = answers(first, Load(ModelOptions("mine")))
    assert isinstance(refused, LoadFailed)
    assert refused.kept
    shared.close_tab(second)
    before = cache_of(first)
    assert answers(first, Load(ModelOptions("mine"))) == [Loaded(info("mine"))]
    assert cache_of(first) is not None
    assert answers(shared.open_tab(), LOAD) == [Loaded(info("mine"))]
    assert before


def test_without_a_model_there_is_no_reply(shared: SharedQueue) -> None:
    assert answers(shared.open_tab(), ask("hello")) == [Failed("no model is loaded")]


# --- the chat's own engine ----------------------------------------------------------------------------------------


def test_conversations_that_alternate_reuse_their_own_caches() -> None:
    shared = served(ChatEngine())
    tabs = [shared.open_tab(), shared.open_tab()]
    for tab in tabs:
        answers(tab, Load(ModelOptions(device="cpu", dtype="float32", step_cost=False)))
    talks = [[Message("user", f"Count from {start} to {start + 5}.")] for start in (3, 11)]
    reused = []
    for _turn in range(2):
        for tab, talk in zip(tabs, talks, strict=True):
            events = answers(tab, Reply(tuple(talk), DecodingOptions(max_new_tokens=8)))
            started = next(event for event in events if isinstance(event, ReplyStarted))
            text = "".join(piece.text for event in events if isinstance(event, Tokens) for piece in event.pieces)
            reused.append((started.reused_tokens, started.prompt_tokens))
            talk += [Message("assistant", text), Message("user", "Go on.")]
    assert [count for count, _ in reused[:2]] == [0, 0]
    for count, total in reused[2:]:
        assert count > total // 2
