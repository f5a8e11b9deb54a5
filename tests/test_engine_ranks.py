"""The chat on two processes: the text of one, a process that is lost told of, and nothing left behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest
import torch.multiprocessing as mp

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder
from lade_chat.child_processes import Child
from lade_chat.engine.process import command_server
from lade_chat.engine.ranks import group
from lade_chat.engine.ranks.group import RankGroup
from lade_chat.engine.ranks.worker import run_worker
from lade_chat.errors import DeviceError, LadeChatError, ModelError
from lade_chat.loading import model_loader
from lade_chat.loading.model_loader import load
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Command, Load, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Sampling, Sizes
from tests.checkpoints import make_qwen2
from tests.models import tokens_of
from tests.ranks import START
from tests.turns_engine import wait_for

SHARED = ModelOptions(lookahead_workers=2, step_cost=False)
OPTIONS = DecodingOptions(
    sizes=Sizes(5, 4, 5), max_new_tokens=40, sampling=Sampling(temperature=0.8, seed=5), stop=("\0",)
)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="ranks need fork")


class ForkedWorker:
    """A worker that is forked by the engine, and so has imported torch and the model's classes."""

    def __init__(self, _main: str, *arguments: str) -> None:
        context = mp.get_context(START)
        theirs, self._ours = context.Pipe(duplex=False)
        self._process = context.Process(target=self._work, args=(theirs, arguments), name="ranks.worker")
        self._process.start()
        theirs.close()

    def _work(self, ours: Connection, arguments: tuple[str, ...]) -> None:
        self._ours.close()  # or it would not see the engine's end
        os.dup2(ours.fileno(), 0)
        sys.argv[1:] = arguments
        run_worker()

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()

    def ended(self) -> str:
        self._process.join()
        return f"ended with exit code {self._process.exitcode}"


def no_room(*_arguments: object) -> None:
    raise MemoryError


class WorkerWithoutRoom(ForkedWorker):
    """A worker in whose memory no model has room."""

    def _work(self, ours: Connection, arguments: tuple[str, ...]) -> None:
        model_loader.load = no_room  # type: ignore[assignment]
        super()._work(ours, arguments)


def serve(commands: Connection, events: Connection) -> None:
    """Serve with these as the standard streams; the first and the last worker are not forked: the engine is busy."""
    kinds = iter((Child, *((ForkedWorker, WorkerWithoutRoom) if START == "fork" else (Child,)), Child))
    group.Child = lambda *arguments: next(kinds)(*arguments)  # type: ignore[assignment, misc]
    with open(os.devnull, "w") as nothing:
        for stream, number in ((commands, 0), (events, 1), (nothing, 2)):
            os.dup2(stream.fileno(), number)
    sys.argv[1:] = []  # pytest's own
    command_server.main()


class EngineProcess:
    """The chat's engine in a process of its own; where that is forked, it need not import torch anew."""

    def __init__(self) -> None:
        context = mp.get_context(START)
        commands, ours = context.Pipe(duplex=False)
        events, theirs = context.Pipe(duplex=False)
        self._process = context.Process(target=serve, args=(commands, theirs))
        self._process.start()
        theirs.close()
        self._commands, self._events = (
            os.fdopen(os.dup(each.fileno()), mode) for each, mode in ((ours, "wb"), (events, "rb"))
        )

    def events(self, command: Command, *last: type) -> list[Event]:
        """What it says to a command, up to an event of one of these kinds."""
        self.send(command)
        found: list[Event] = []
        for line in self._events:
            found.append(decode_event(line))
            if isinstance(found[-1], last):
                return found
        raise AssertionError(f"the engine ended after {found}")

    def send(self, command: Command) -> None:
        self._commands.write(encode(command))
        self._commands.flush()

    def reply(self) -> tuple[str, Event]:
        """A reply's text and its last event."""
        events = self.events(Reply((Message("user", "Tell me a story."),), OPTIONS), ReplyFinished, Failed)
        pieces = (piece for event in events if isinstance(event, Tokens) for piece in event.pieces)
        return "".join(piece.text for piece in pieces), events[-1]

    def workers(self) -> list[psutil.Process]:
        """The other ranks that live."""
        found = []
        engine = psutil.Process(self._process.pid)
        for child in engine.children():
            with suppress(psutil.NoSuchProcess):  # a zombie is one
                if "ranks.worker" in " ".join(child.cmdline()) or child.cmdline() == engine.cmdline():
                    found.append(child)
        return found

    def kill(self) -> None:
        self._process.kill()
        self._process.join()


@contextmanager
def engine_process() -> Iterator[EngineProcess]:
    engine = EngineProcess()
    try:
        yield engine
    finally:
        engine.kill()


def kill_workers(engine: EngineProcess) -> None:
    workers = engine.workers()
    assert workers
    for worker in workers:
        worker.kill()


def test_processes_that_are_lost_are_told_of_and_none_outlives_the_engine(tmp_path: Path) -> None:
    """One engine for all of it: every process that joins it takes seconds to start."""
    # Or each of them would compare the kernels with transformers first.
    load(ModelOptions(step_cost=False), lambda *progress: None)
    model = make_qwen2(tmp_path)  # before the engine is forked, which then need not import the model's classes
    with engine_process() as engine:
        lost_worker_ends_the_reply_and_the_chat_goes_on_with_the_same_text(engine)
        lost_part_of_a_model_ends_the_reply_and_says_what_to_do(engine, model)
        if START == "fork":
            part_that_cannot_be_loaded_ends_the_load_and_says_why(engine, model)
        nothing_outlives_an_engine_that_is_killed(engine)


def lost_worker_ends_the_reply_and_the_chat_goes_on_with_the_same_text(engine: EngineProcess) -> None:
    loaded = engine.events(Load(SHARED), Loaded, LoadFailed)[-1]
    assert isinstance(loaded, Loaded)
    assert loaded.model.lookahead_workers == 2
    shared, _ = engine.reply()
    kill_workers(engine)
    _, ending = engine.reply()
    assert ending == Failed("the process of rank 1 is gone: the chat goes on in one process")
    alone, ending = engine.reply()
    assert isinstance(ending, ReplyFinished)
    assert alone == shared
    assert len(alone) > 40


def split(model: Path) -> ModelOptions:
    return ModelOptions(str(model), device="cpu", tensor_parallel=2, step_cost=False)


def lost_part_of_a_model_ends_the_reply_and_says_what_to_do(engine: EngineProcess, model: Path) -> None:
    loaded = engine.events(Load(split(model)), Loaded, LoadFailed)[-1]
    assert isinstance(loaded, Loaded)
    assert loaded.model.tensor_parallel == 2
    assert isinstance(engine.reply()[1], ReplyFinished)
    kill_workers(engine)
    for _ in range(2):
        _, ending = engine.reply()
        assert isinstance(ending, Failed)
        assert ending.message.endswith("gone, and a part of the model with it: load the model again")


def part_that_cannot_be_loaded_ends_the_load_and_says_why(engine: EngineProcess, model: Path) -> None:
    failed = engine.events(Load(split(model)), Loaded, LoadFailed)[-1]
    assert isinstance(failed, LoadFailed)
    assert failed.message.startswith("The process of rank 1 could not load the model: out of memory")


def nothing_outlives_an_engine_that_is_killed(engine: EngineProcess) -> None:
    engine.send(Load(SHARED))
    wait_for(lambda: bool(engine.workers()), 100)
    workers = engine.workers()
    engine.kill()
    wait_for(lambda: not any(worker.is_running() for worker in workers))


def test_what_cannot_be_split_is_reported() -> None:
    with pytest.raises(ModelError, match="5 heads of keys and values"):
        load(ModelOptions(tensor_parallel=2), lambda *progress: None)


def test_a_device_and_a_device_map_exclude_each_other() -> None:
    with pytest.raises(DeviceError, match="exclude each other"):
        load(ModelOptions(device="cpu", device_map="auto"), lambda *progress: None)


def test_a_model_spread_by_accelerate_says_what_it_says_on_one_device() -> None:
    pytest.importorskip("accelerate")
    spread = load(ModelOptions(device_map="auto", dtype="float64"), lambda *progress: None)
    assert spread.info.lookahead_supported
    alone = load(ModelOptions(device="cpu", dtype="float64"), lambda *progress: None)
    prompt = alone.tokenizer("3, 4, 5, 6, 7, 8, 9, 10,")["input_ids"]
    expected = tokens_of(AutoregressiveDecoder(alone.model).generate(prompt, max_new_tokens=20))
    steps = list(LookaheadDecoder(spread.model, LookaheadConfig(5, 4, 5)).generate(prompt, max_new_tokens=20))
    assert tokens_of(steps) == expected
    assert any(step.accepted for step in steps)


def refuse(*arguments: object, **options: object) -> None:
    raise OSError("no room")


def test_one_process_starts_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.engine.ranks.group.Child", refuse)
    ranks = RankGroup()
    ranks.assign(ModelOptions())
    loaded = load(ModelOptions(device="cpu", step_cost=False), lambda *progress: None)
    alone = ranks.attach_all(loaded)
    assert (alone.info, alone.workers) == (loaded.info, None)


def test_what_is_measured_is_measured_by_all_that_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.engine.ranks.group.Child", refuse)
    ranks = RankGroup()
    ranks.assign(SHARED)
    loaded = load(ModelOptions(device="cpu", step_cost=False), lambda *progress: None)
    with pytest.raises(LadeChatError, match=r"^The lookahead workers could not start: OSError: no room\.$"):
        ranks.attach_all(loaded)
    with pytest.raises(LadeChatError, match=r"^The other processes could not start: OSError: no room\.$"):
        ranks.assign(ModelOptions(device="cpu", tensor_parallel=2))
    ranks.close()
