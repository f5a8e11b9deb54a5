"""The engine server: what is asked when, what waits, what a stop or a toggle reaches; in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import msgspec
import pytest

from lade_chat.engine.job import Job
from lade_chat.errors import LadeChatError, one_line
from lade_chat.protocol.codec import decode_command, decode_event, encode
from lade_chat.protocol.commands import (
    Command,
    Compare,
    Inspect,
    Load,
    Pause,
    Reply,
    Resume,
    SetLookahead,
    StepOnce,
    Stop,
)
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, Loaded, LoadFailed, ReplyFinished, ReplyStarted
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Statistics
from tests.engines import MODEL, LoneServer, ScriptedEngine, ending

LOAD = Load(ModelOptions())
PATIENCE = 30.0  # a limit for a hung test, not a measure of anything


def reply(wish: str, *, lookahead: bool = True) -> Reply:
    return Reply((Message("user", wish),), DecodingOptions(lookahead=lookahead))


class GatedEngine(ScriptedEngine):
    """Waits between ``handle`` and a reply's first event until the barrier opens."""

    def __init__(self) -> None:
        super().__init__(self._wait)
        self.entered = threading.Event()
        self.barrier = threading.Event()

    def _wait(self, job: Job) -> Iterator[Event]:
        self.entered.set()
        assert self.barrier.wait(PATIENCE)
        yield ReplyStarted(prompt_tokens=1)
        yield ending(job, Statistics(lookahead=job.lookahead))


Gated = tuple[LoneServer, GatedEngine, list[Event]]


@pytest.fixture
def gated() -> Gated:
    """A server with a loaded engine, and where its events go."""
    events: list[Event] = []
    engine = GatedEngine()
    server = LoneServer(lambda: engine, events.append)
    server.take(LOAD)
    server.serve_one()
    events.clear()
    return server, engine, events


def in_thread(server: LoneServer) -> threading.Thread:
    thread = threading.Thread(target=server.serve_one, daemon=True)
    thread.start()
    return thread


def test_a_stop_between_start_and_first_event_holds(
    gated: Gated,
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
    gated: Gated,
) -> None:
    server, engine, events = gated
    server.take(reply("hello"))
    thread = in_thread(server)
    assert engine.entered.wait(PATIENCE)
    server.take(SetLookahead(False))
    engine.barrier.set()
    thread.join(PATIENCE)
    assert events[-1] == ReplyFinished("eos", Statistics(lookahead=False))


def test_a_toggle_reaches_a_reply_that_waits(gated: Gated) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("hello"))
    server.take(SetLookahead(False))
    server.serve_one()
    assert events[-1] == ReplyFinished("eos", Statistics(lookahead=False))


def test_a_stop_cancels_what_waits_and_nothing_later(
    gated: Gated,
) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("first"))
    server.take(Compare((Message("user", "second"),), DecodingOptions()))
    server.take(Stop())
    server.take(reply("third"))
    for _ in range(3):
        server.serve_one()
    nothing = Statistics()
    assert events[:4] == [
        ReplyFinished("cancelled", nothing),
        ReplyFinished("cancelled", nothing),
        ReplyFinished("cancelled", nothing, side="right"),
        ComparisonFinished(1.0, True),
    ]
    assert [event.finish_reason for event in events[4:] if isinstance(event, ReplyFinished)] == ["eos"]


def test_a_stop_after_the_end_does_not_reach_the_next_reply(
    gated: Gated,
) -> None:
    server, engine, events = gated
    engine.barrier.set()
    server.take(reply("first"))
    server.serve_one()
    server.take(Stop())
    server.take(reply("second"))
    server.serve_one()
    assert [event.finish_reason for event in events if isinstance(event, ReplyFinished)] == ["eos", "eos"]


def test_a_stop_does_not_end_a_load(gated: Gated) -> None:
    server, _, events = gated
    server.take(LOAD)
    server.take(Stop())
    server.serve_one()
    assert events == [Loaded(MODEL)]


def test_an_engine_that_cannot_be_made_is_a_failed_load() -> None:
    events: list[Event] = []
    server = LoneServer(lambda: __import__("no_such_module"), events.append)  # type: ignore[arg-type, return-value]
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


def begun(command: Command, *before: Command) -> tuple[LoneServer, GatedEngine, Job, threading.Thread]:
    """A server that carries out a command, and has not said anything of it yet; ``before`` came before it."""
    engine = GatedEngine()
    server = LoneServer(lambda: engine, lambda event: None)
    server.take(LOAD)
    server.serve_one()
    for earlier in before:
        server.take(earlier)
    server.take(command)
    thread = in_thread(server)
    assert engine.entered.wait(PATIENCE)
    return server, engine, engine.jobs[-1], thread


@pytest.mark.parametrize(
    ("asked", "allowed_steps"),
    [([Pause()], 0), ([Pause(), StepOnce()], 1), ([Pause(), Resume()], 2), ([Resume(), StepOnce()], 2)],
)
def test_a_pause_before_the_first_event_holds(asked: list[Command], allowed_steps: int) -> None:
    server, engine, job, thread = begun(reply("first"), *asked)  # with no job yet that could obey
    for command in asked:
        server.take(command)
    assert [job.may_step(), job.may_step()].count(True) == allowed_steps
    engine.barrier.set()
    thread.join(PATIENCE)


def test_a_reply_that_waits_behind_another_job_is_paused_too() -> None:
    server, engine, _, thread = begun(Compare((Message("user", "x"),), DecodingOptions()))
    server.take(reply("next"))
    server.take(Pause())
    engine.barrier.set()
    thread.join(PATIENCE)
    server.serve_one()
    assert not engine.jobs[-1].may_step()


def test_a_race_is_not_paused() -> None:
    server, engine, job, thread = begun(Compare((Message("user", "x"),), DecodingOptions()))
    server.take(Pause())
    assert job.may_step()
    engine.barrier.set()
    thread.join(PATIENCE)


def test_inspection_holds_for_this_reply_and_later_ones() -> None:
    server, engine, job, thread = begun(reply("first"), Inspect(True))
    assert job.inspecting
    server.take(Inspect(False))
    assert not job.inspecting
    server.take(Inspect(True))
    engine.barrier.set()
    thread.join(PATIENCE)
    server.take(reply("second"))
    server.serve_one()
    assert engine.jobs[-1] is not job
    assert engine.jobs[-1].inspecting


@pytest.mark.parametrize("command", [Pause(), StepOnce(), Resume(), Inspect(True), Inspect(False)])
def test_what_paces_a_reply_goes_over_the_wire(command: Command) -> None:
    assert decode_command(encode(command)) == command


def test_a_path_whose_bytes_are_not_utf_8_goes_over_the_wire_with_replacements() -> None:
    sent = Load(ModelOptions(path="models/caf\udce9"))
    assert decode_command(encode(sent)) == Load(ModelOptions(path="models/caf\ufffd"))


@pytest.mark.parametrize("line", [b'{"type":"St\xffop"}', b'{"type":"\xc3"}', b"[" * 100_000, b'{"type":"Sto', b"\0"])
@pytest.mark.parametrize("decode", [decode_command, decode_event])
def test_a_line_that_is_none_is_refused_in_one_way(decode: Callable[[bytes], object], line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        decode(line)
