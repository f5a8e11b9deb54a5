"""Tabs that share an engine: turns, caches, stops, loads, and a socket that nobody else gets into."""

from __future__ import annotations

import pytest

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.process.command_server import MAX_CACHED, CommandServer
from lade_chat.protocol.commands import Load, Pause, Prefill, Reply, Resume, SetLookahead, Stop
from lade_chat.protocol.events import Failed, Loaded, LoadFailed, ReplyFinished, ReplyStarted, Tokens, Waiting
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from tests.turns_engine import LOAD, Tab, TurnsEngine, answers, ask, cache_of, info, served, wait_for


@pytest.fixture
def engine() -> TurnsEngine:
    return TurnsEngine()


@pytest.fixture
def server(engine: TurnsEngine) -> CommandServer:
    return served(engine)


def two_tabs(server: CommandServer, engine: TurnsEngine) -> tuple[Tab, Tab]:
    """A tab that is being answered until the engine is let go, and another."""
    first, second = Tab(server), Tab(server)
    answers(first, LOAD)
    first.events.clear()
    first.send(ask("wait"))
    wait_for(engine.entered.is_set)
    return first, second


# --- turns --------------------------------------------------------------------------------------------------------


def test_each_tab_has_its_own_cache(server: CommandServer) -> None:
    first, second = Tab(server), Tab(server)
    answers(first, LOAD)
    mine, other = cache_of(first), cache_of(second)
    assert mine != other
    assert (cache_of(first), cache_of(second), cache_of(second)) == (mine, other, other)


def test_no_more_caches_are_kept_than_there_may_be(server: CommandServer) -> None:
    tabs = [Tab(server) for _ in range(MAX_CACHED + 2)]
    answers(tabs[0], LOAD)
    before = [cache_of(tab) for tab in tabs]
    assert cache_of(tabs[-1]) == before[-1]
    assert cache_of(tabs[-2]) == before[-2]
    assert cache_of(tabs[0]) not in before


def test_the_tabs_take_turns(server: CommandServer, engine: TurnsEngine) -> None:
    first, *others = (*two_tabs(server, engine), Tab(server))
    first.send(ask("later"))
    for number, tab in enumerate(others, start=1):
        tab.send(ask(f"first of {number}"))
    engine.go.set()
    for tab in (first, *others):
        tab.wait()
    wait_for(lambda: len(engine.log) == 4)
    assert engine.log == ["wait", "first of 1", "first of 2", "later"]
    assert [event.ahead for event in others[1].events if isinstance(event, Waiting)] == [2, 1]


def test_lookahead_is_switched_for_one_who_waits(server: CommandServer, engine: TurnsEngine) -> None:
    first, second = two_tabs(server, engine)
    second.send(ask("hello"), SetLookahead(False))
    assert first.job.lookahead
    engine.go.set()
    second.wait()
    assert engine.lookahead is False


def test_one_who_waits_may_give_up_without_waiting(server: CommandServer, engine: TurnsEngine) -> None:
    first, second = two_tabs(server, engine)
    second.send(ask("never asked"), ask("nor this"), Stop())
    told, *ends = second.events
    assert told == Waiting(1)
    assert [event.finish_reason for event in ends if isinstance(event, ReplyFinished)] == ["cancelled"] * 2
    assert not first.job.stopped
    first.send(Stop())
    assert isinstance(first.wait()[-1], ReplyFinished)
    assert engine.log == ["wait"]


def test_a_tab_that_closes_ends_its_reply(server: CommandServer, engine: TurnsEngine) -> None:
    first, second = two_tabs(server, engine)
    first.close()
    assert cache_of(second)


def test_a_paused_tab_goes_on_when_another_asks(server: CommandServer, engine: TurnsEngine) -> None:
    first, second = two_tabs(server, engine)
    first.send(Pause())
    assert not first.job.may_step()
    second.send(ask("hello"))
    assert first.job.may_step()
    first.send(Pause())
    assert first.job.may_step()
    engine.go.set()
    second.wait()


def test_a_paused_tab_stays_paused_while_another_only_types(server: CommandServer, engine: TurnsEngine) -> None:
    first, second = two_tabs(server, engine)
    first.send(Pause())
    second.send(Prefill((Message("user", "hel"),), DecodingOptions()))
    assert not first.job.may_step()
    first.send(Resume())
    engine.go.set()
    first.wait()


def test_an_error_is_reported_to_its_tab_and_the_next_command_is_served(server: CommandServer) -> None:
    first, second = Tab(server), Tab(server)
    answers(first, LOAD)
    assert answers(first, ask("breaks")) == [Failed("RuntimeError: it broke")]
    assert cache_of(second)


# --- models -------------------------------------------------------------------------------------------------------


def test_a_tab_begins_with_the_model_that_is_there(server: CommandServer) -> None:
    first, second = Tab(server), Tab(server)
    assert answers(first, Load(ModelOptions("mine"))) == [Loaded(info("mine"))]
    assert answers(second, LOAD) == [Loaded(info("mine"))]


def test_another_model_is_for_one_who_is_alone(server: CommandServer) -> None:
    first, second = Tab(server), Tab(server)
    answers(first, LOAD)
    answers(second, LOAD)
    (refused,) = answers(first, Load(ModelOptions("mine")))
    assert isinstance(refused, LoadFailed)
    assert refused.kept
    second.close()
    before = cache_of(first)
    assert answers(first, Load(ModelOptions("mine"))) == [Loaded(info("mine"))]
    assert cache_of(first) is not None
    assert answers(Tab(server), LOAD) == [Loaded(info("mine"))]
    assert before


def test_without_a_model_there_is_no_reply(server: CommandServer) -> None:
    assert answers(Tab(server), ask("hello")) == [Failed("no model is loaded")]


# --- the chat's own engine ----------------------------------------------------------------------------------------


def test_conversations_that_alternate_reuse_their_own_caches() -> None:
    server = served(ChatEngine())
    tabs = [Tab(server), Tab(server)]
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
