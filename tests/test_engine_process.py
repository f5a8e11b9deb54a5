"""The engine process and its client: what passes between them, and every way to end, over a scripted engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from lade_chat.child_processes import command
from lade_chat.engine.job import Job
from lade_chat.engine.process.client import EngineClient
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Load, Quit, Reply, SetLookahead, Stop
from lade_chat.protocol.events import (
    EngineLost,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Statistics
from tests.engines import MODEL, ScriptedEngine, ending, question, say
from tests.running import file_size_limit

LOAD = Load(ModelOptions())
PATIENCE = 30.0  # a limit for a hung test, not a measure of anything


def load(job: Job) -> Iterator[Event]:
    assert isinstance(job.command, Load)
    if job.command.options.path == "broken":
        raise OSError("no such model\nand a long story")
    yield Loading("weights", 1, 2)
    yield Loaded(MODEL)


def obey(job: Job) -> Iterator[Event]:
    """Do what the last message says."""
    yield ReplyStarted(prompt_tokens=3)
    wish = question(job)
    if wish == "raise":
        raise ValueError("a bad thing\nhappened")
    if wish == "exhaust":
        raise MemoryError
    if wish == "freeze":
        time.sleep(10 * PATIENCE)
    if wish == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if wish == "exit":
        sys.stderr.write("first words\nlast words\n")
        sys.stderr.flush()
        os._exit(3)
    if wish == "print":
        sys.stdout.write("a library prints\n")
        sys.stdout.flush()
        os.write(1, b"another one too\n")
    if wish == "long":
        yield _tokens("long " * 200_000, job)
    while wish == "forever" and not job.stopped:
        yield _tokens("on " if job.lookahead else "off ", job)
        time.sleep(0.002)
    yield ending(job)


def _tokens(text: str, job: Job) -> Tokens:
    return say(text, Statistics(lookahead=job.lookahead))


def obedient() -> ScriptedEngine:
    return ScriptedEngine(obey, load)


SCRIPTED = f"{__name__}:obedient"


def reply(wish: str, *, lookahead: bool = True) -> Reply:
    return Reply((Message("user", wish),), DecodingOptions(lookahead=lookahead))


@pytest.fixture
async def client() -> AsyncIterator[EngineClient]:
    """A client of the scripted engine, loaded."""
    client = EngineClient(SCRIPTED)
    await client.start()
    client.send(LOAD)
    yield client
    client.close()


async def until(client: EngineClient, *kinds: type[Event]) -> list[Event]:
    """The events up to the first of one of these kinds."""
    seen: list[Event] = []

    async def read() -> None:
        async for event in client.events():
            seen.append(event)
            if isinstance(event, kinds):
                return

    await asyncio.wait_for(read(), PATIENCE)
    return seen


async def gone(pid: int) -> None:
    """Wait until a process has ended and been collected; a zombie counts as still there."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"process {pid} is still there")


async def test_load_then_reply(client: EngineClient) -> None:
    client.send(reply("hello"))
    events = await until(client, ReplyFinished)
    assert events == [
        Loading("weights", 1, 2),
        Loaded(MODEL),
        ReplyStarted(3),
        ReplyFinished("eos", Statistics()),
    ]


async def test_what_a_library_prints_does_not_reach_the_stream(client: EngineClient) -> None:
    client.send(reply("print"))
    assert (await until(client, ReplyFinished))[-1] == ReplyFinished("eos", Statistics())


async def test_a_line_of_a_megabyte(client: EngineClient) -> None:
    client.send(reply("long"))
    tokens = [event for event in await until(client, ReplyFinished) if isinstance(event, Tokens)]
    assert len(tokens[0].pieces[0].text) == 1_000_000
    client.send(reply("x" * 1_000_000))
    assert isinstance((await until(client, ReplyFinished))[-1], ReplyFinished)


async def test_toggle_and_stop_in_mid_reply(client: EngineClient) -> None:
    client.send(reply("forever"))
    await until(client, Tokens)
    client.send(SetLookahead(False))
    async for event in client.events():
        if isinstance(event, Tokens) and not event.statistics.lookahead:
            break
    client.send(Stop())
    client.send(reply("hello"))
    assert (await until(client, ReplyFinished))[-1] == ReplyFinished("cancelled", Statistics())
    assert (await until(client, ReplyFinished))[-1] == ReplyFinished("eos", Statistics())


async def test_errors_are_one_line_and_the_process_lives(client: EngineClient) -> None:
    pid = client.pid
    client.send(reply("raise"))
    client.send(reply("exhaust"))
    client.send(Load(ModelOptions(path="broken")))
    client.send(reply("hello"))
    events = await until(client, ReplyFinished)
    failures = [event.message for event in events if isinstance(event, Failed | LoadFailed)]
    assert failures[0] == "ValueError: a bad thing"
    assert failures[1].startswith("out of memory")
    assert failures[2] == "OSError: no such model"
    assert client.pid == pid


async def test_killed_in_mid_reply_then_restarted(client: EngineClient) -> None:
    client.send(reply("forever"))
    await until(client, Tokens)
    pid = client.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    told = "the engine process was ended by SIGKILL (perhaps the system ran out of memory)"
    assert (await until(client, EngineLost))[-1] == EngineLost(told)
    await gone(pid)
    client.send(reply("dropped, since there is no engine"))
    await client.restart()
    assert client.pid not in (None, pid)
    client.send(LOAD)
    client.send(reply("hello"))
    assert isinstance((await until(client, ReplyFinished))[-1], ReplyFinished)


async def test_an_engine_that_exits_leaves_its_last_words(client: EngineClient) -> None:
    client.send(reply("exit"))
    assert (await until(client, EngineLost))[-1] == EngineLost("the engine process ended with exit code 3: last words")


async def test_without_room_for_temporary_files_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    client = EngineClient()
    with file_size_limit(0):
        await client.start()
    (lost,) = await until(client, EngineLost)
    assert isinstance(lost, EngineLost)
    assert lost.message.startswith("the engine process could not start: No usable temporary directory")
    assert lost.message.endswith("make room there, or set TMPDIR")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="tells where a process runs")
async def test_an_engine_starts_where_there_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    client = EngineClient(SCRIPTED)
    await client.start()
    assert os.readlink(f"/proc/{client.pid}/cwd") == "/"
    client.close()


async def test_restart_while_it_runs_is_no_loss(client: EngineClient) -> None:
    client.send(reply("forever"))
    await until(client, Tokens)
    await client.restart()
    client.send(LOAD)
    client.send(reply("hello"))
    events = await until(client, ReplyFinished)
    assert [type(event) for event in events] == [Loading, Loaded, ReplyStarted, ReplyFinished]


async def test_close_in_the_middle_of_a_forward(client: EngineClient) -> None:
    client.send(reply("freeze"))
    await until(client, ReplyStarted)
    pid = client.pid
    assert pid is not None
    client.close()
    client.close()
    client.send(reply("dropped"))
    assert [event async for event in client.events()] == []
    await gone(pid)


@pytest.mark.parametrize("ending", ["eof", "quit"])
def test_end_of_stdin_and_quit_end_the_process_in_mid_forward(ending: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        command("lade_chat.engine.process.command_server:main", SCRIPTED),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        process.stdin.write(encode(LOAD) + b"not a command\n" + encode(reply("freeze")))
        process.stdin.flush()
        while not isinstance(decode_event(process.stdout.readline()), ReplyStarted):
            pass
        process.send_signal(signal.SIGINT)  # as a terminal does at Ctrl+C; it is not for the engine
        if ending == "quit":
            process.stdin.write(encode(Quit()))
            process.stdin.flush()
        else:
            process.stdin.close()
        assert process.wait(PATIENCE) == 0


def test_the_client_imports_no_torch() -> None:
    code = "import sys, lade_chat.engine.process.client; sys.exit(bool({'torch', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
