"""The engine server: what is asked when, what waits, what a stop or a toggle reaches; in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from lade_chat.engine.process.server import EngineServer, one_line
from lade_chat.errors import LadeChatError
from lade_chat.protocol.codec import decode_command, encode
from lade_chat.protocol.commands import Command, Load, Race, Reply
from lade_chat.protocol.control import Inspect, Pause, Resume, SetLookahead, StepOnce, Stop
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, RaceFinished, ReplyFinished, ReplyStarted
from lade_chat.protocol.values import DecodingOptions, Message, ModelInfo, ModelOptions, Statistics

LOAD = Load(ModelOptions())
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, True)
PATIENCE = 30.0  # a limit for a hung test, not a measure of anything


def reply(wish: str, *, lookahead: bool = True) -> Reply:
    return Reply((Message("user", wish),), DecodingOptions(lookahead=lookahead))


class GatedEngine:
    """Pauses between ``handle`` and its first event, and then forgets an earlier stop, as an engine may."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.barrier = threading.Event()
        self.stopped = False
        self.lookahead: list[bool] = []

    def stop(self) -> None:
        self.stopped = True

    def set_lookahead(self, enabled: bool) -> None:
        self.lookahead.append(enabled)

    def handle(self, command: Command) -> Iterator[Event]:
        if isinstance(command, Load):
            yield Loaded(MODEL)
            return
        self.entered.set()
        assert self.barrier.wait(PATIENCE)
        self.stopped = False
        self.lookahead.clear()
        yield ReplyStarted(prompt_tokens=1)
        lookahead = self.lookahead[-1] if self.lookahead else command.options.lookahead  # type: ignore[union-attr]
        yield ReplyFinished("cancelled" if self.stopped else "eos", Statistics(lookahead=lookahead))


@pytest.fixture
def gated() -> tuple[EngineServer, GatedEngine, list[Event]]:
    """A server with a loaded engine, and where its events go."""
    events: list[Event] = []
    engine = GatedEngine()
    server = EngineServer(lambda: engine, events.append)
    server.take(LOAD)
    server.serve_one()
    events.clear()
    return server, engine, events


def in_thread(server: EngineServer) -> threading.Thread:
    thread = threading.Thread(target=server.serve_one, daemon=True)
    thread.start()
    return thread


def test_a_stop_between_start_and_first_event_holds(
    gated: tuple[EngineServer, GatedEngine, list[Event]],
) -> None:
    server, engine, events = gated
    server.take(reply("hello"))
    thread = in_thread(server)
    assert engine.entered.wait(PATIENCE)
    server.take(Stop())
    engine.barrier.set()
    thread.join(PATIENCE)
    assert events == [ReplyStarted(1), ReplyFinished("cancelled", Statistics(lookahead=True))]


def test_a_toggle_between_start_and_first_event_holds(
    gated: tuple[EngineServer, GatedEngine, list[Event]],
) -> None:
    server, engine, events = gated
    server.take(reply("hello"))
    thread = in_thread(server)
    assert engine.entered.wait(PATIENCE)
    server.take(SetLookahead(False))
    engine.barrier.set()
    thread.join(PATIENCE)
    assert events[-1] == ReplyFinished("eos", Statistics(lookahead=False))


def test_a_toggle_reaches_a_reply_that_waits(gated: tuple[EngineServer, GatedEngine, list[Event]]) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("hello"))
    server.take(SetLookahead(False))
    server.serve_one()
    assert events[-1] == ReplyFinished("eos", Statistics(lookahead=False))


def test_a_stop_cancels_what_waits_and_nothing_later(
    gated: tuple[EngineServer, GatedEngine, list[Event]],
) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("first"))
    server.take(Race((Message("user", "second"),), DecodingOptions()))
    server.take(Stop())
    server.take(reply("third"))
    for _ in range(3):
        server.serve_one()
    nothing = Statistics()
    assert events[:4] == [
        ReplyFinished("cancelled", nothing),
        ReplyFinished("cancelled", nothing),
        ReplyFinished("cancelled", nothing, side="right"),
        RaceFinished(1.0, True),
    ]
    assert [event.finish_reason for event in events[4:] if isinstance(event, ReplyFinished)] == ["eos"]


def test_a_stop_after_the_end_does_not_reach_the_next_reply(
    gated: tuple[EngineServer, GatedEngine, list[Event]],
) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("first"))
    server.serve_one()
    server.take(Stop())
    server.take(reply("second"))
    server.serve_one()
    assert [event.finish_reason for event in events if isinstance(event, ReplyFinished)] == ["eos", "eos"]


def test_a_stop_does_not_end_a_load(gated: tuple[EngineServer, GatedEngine, list[Event]]) -> None:
    server, _, events = gated
    server.take(LOAD)
    server.take(Stop())
    server.serve_one()
    assert events == [Loaded(MODEL)]


def test_an_engine_that_cannot_be_made_is_a_failed_load() -> None:
    events: list[Event] = []
    server = EngineServer(lambda: __import__("no_such_module"), events.append)  # type: ignore[arg-type, return-value]
    server.take(LOAD)
    server.take(reply("hello"))
    server.serve_one()
    server.serve_one()
    assert events == [
        LoadFailed("ModuleNotFoundError: No module named 'no_such_module'"),
        Failed("no model is loaded"),
    ]


def test_an_error_is_one_line() -> None:
    assert one_line(LadeChatError("no such folder: x")) == "no such folder: x"
    assert one_line(ValueError("\n first \n second")) == "ValueError: first"
    assert one_line(KeyError()) == "KeyError"
    assert one_line(RuntimeError("CUDA out of memory. Tried to allocate")).startswith("out of memory")
    assert one_line(MemoryError()).startswith("out of memory")


class PacedEngine(GatedEngine):
    """Also notes how its replies are paced and inspected; forgets it when one begins, as an engine may."""

    def __init__(self) -> None:
        super().__init__()
        self.wishes: list[object] = []

    def pause(self) -> None:
        self.wishes.append("pause")

    def step_once(self) -> None:
        self.wishes.append("step")

    def resume(self) -> None:
        self.wishes.append("resume")

    def inspect(self, enabled: bool) -> None:
        self.wishes.append(enabled)

    def handle(self, command: Command) -> Iterator[Event]:
        for number, event in enumerate(super().handle(command)):
            if number == 0:
                self.wishes.clear()
            yield event


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ([Pause()], ["pause"]),
        ([Pause(), Resume()], []),
        ([Resume(), StepOnce()], []),
    ],
)
def test_a_pause_that_came_before_the_first_event_is_said_once_more(asked: list[Command], left: list[object]) -> None:
    engine = PacedEngine()
    server = EngineServer(lambda: engine, lambda event: None)
    for wish in (*asked, Inspect(True)):
        server.take(wish)  # nothing is there yet that could obey
    server.take(LOAD)
    server.serve_one()
    server.take(reply("first"))
    serving = threading.Thread(target=server.serve_one, daemon=True)
    serving.start()
    assert engine.entered.wait(PATIENCE)
    for wish in asked:
        server.take(wish)
    engine.barrier.set()
    serving.join(PATIENCE)
    assert engine.wishes == left


def test_a_race_is_not_paused_and_inspection_waits_for_nothing() -> None:
    engine = PacedEngine()
    server = EngineServer(lambda: engine, lambda event: None)
    server.take(LOAD)
    server.serve_one()
    server.take(Inspect(True))
    assert engine.wishes == [True]
    server.take(Race((Message("user", "x"),), DecodingOptions()))
    serving = threading.Thread(target=server.serve_one, daemon=True)
    serving.start()
    assert engine.entered.wait(PATIENCE)
    server.take(Pause())
    assert engine.wishes == [True]
    engine.barrier.set()
    serving.join(PATIENCE)


@pytest.mark.parametrize("command", [Pause(), StepOnce(), Resume(), Inspect(True), Inspect(False)])
def test_what_paces_a_reply_goes_over_the_wire(command: Command) -> None:
    assert decode_command(encode(command)) == command
