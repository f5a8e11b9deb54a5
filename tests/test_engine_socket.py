"""The socket between the tabs and the engine that they share: who gets in, and what passes."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from lade_chat.engine.process.client import RemoteEngine
from lade_chat.engine.process.command_server import CommandServer
from lade_chat.engine.sharing.address import Address, free_port
from lade_chat.engine.sharing.tab_server import accept
from lade_chat.protocol.commands import Stop
from lade_chat.protocol.events import EngineLost, Event, Loaded, ReplyFinished, ReplyStarted, Tokens
from tests.turns_engine import LOAD, PATIENCE, TurnsEngine, ask, info, served


@pytest.fixture
def engine() -> TurnsEngine:
    return TurnsEngine()


@pytest.fixture
def server(engine: TurnsEngine) -> CommandServer:
    return served(engine)


@pytest.fixture
def address(server: CommandServer, tmp_path: Path) -> Address:
    """Where a hub serves ``server``."""
    address = Address.new(str(tmp_path))
    listening = address.listen()
    threading.Thread(target=accept, args=(listening, address, server), daemon=True).start()
    return address


@asynccontextmanager
async def connected(address: Address) -> AsyncIterator[tuple[RemoteEngine, AsyncIterator[Event]]]:
    engine = RemoteEngine(address)
    await engine.start()
    try:
        yield engine, engine.events()
    finally:
        engine.close()


async def until(events: AsyncIterator[Event], kind: type[Event]) -> Event:
    async with asyncio.timeout(PATIENCE) if hasattr(asyncio, "timeout") else contextlib.nullcontext():
        async for event in events:
            if isinstance(event, kind):
                return event
    raise AssertionError(f"no {kind.__name__} came")


async def test_two_tabs_talk_through_the_socket(address: Address) -> None:
    async with connected(address) as (first, told), connected(address) as (second, told_too):
        first.send(LOAD)
        await until(told, Loaded)
        second.send(LOAD)
        assert await until(told_too, Loaded) == Loaded(info("bundled"))
        for engine in (first, second):
            engine.send(ask("hello"))
        pieces = [(await until(each, Tokens)).pieces for each in (told, told_too)]
        assert pieces[0] != pieces[1]


async def test_a_connection_that_cannot_be_accepted_does_not_keep_others_out(
    server: CommandServer, tmp_path: Path
) -> None:
    failures = [OSError(errno.EMFILE, "Too many open files")]

    class Short(socket.socket):
        """The first time, no file can be opened."""

        def accept(self) -> tuple[socket.socket, object]:
            if failures:
                raise failures.pop()
            return super().accept()

    address = Address.new(str(tmp_path))
    listening = address.listen()
    short = Short(listening.family, listening.type, fileno=listening.detach())
    threading.Thread(target=accept, args=(short, address, server), daemon=True).start()
    async with connected(address) as (tab, told):
        tab.send(LOAD)
        await until(told, Loaded)


async def test_a_stop_reaches_the_running_reply(address: Address, engine: TurnsEngine) -> None:
    async with connected(address) as (tab, told):
        tab.send(LOAD)
        tab.send(ask("wait"))
        await until(told, ReplyStarted)
        tab.send(Stop())
        finished = await until(told, ReplyFinished)
        assert isinstance(finished, ReplyFinished)
        assert finished.finish_reason == "cancelled"


async def test_no_thread_is_left_of_a_tab_that_went(address: Address) -> None:
    async with connected(address) as (tab, told):
        tab.send(LOAD)
        await until(told, Loaded)
        during = threading.active_count()
    deadline = time.monotonic() + PATIENCE
    while threading.active_count() > during - 2:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def test_the_secret_is_required(address: Address, engine: TurnsEngine) -> None:
    for said in (b"", b"x" * 43 + b"\n", address.secret[:-1].encode() + b"\n", b'{"type":"Quit"}\n' * 4):
        with _dialled(address) as connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                assert connection.recv(1) == b""
    assert engine.log == []


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="there are no Unix sockets here")
def test_the_socket_is_the_users_alone(address: Address) -> None:
    assert Path(address.place).stat().st_mode & 0o077 == 0


async def test_an_engine_that_is_gone_is_reported_and_found_again(server: CommandServer, tmp_path: Path) -> None:
    address = Address(str(free_port("127.0.0.1")), "secret")
    listening = await asyncio.get_running_loop().run_in_executor(None, address.listen)
    accepted: list[socket.socket] = []
    thread = threading.Thread(target=lambda: accepted.append(listening.accept()[0]), daemon=True)
    thread.start()
    async with connected(address) as (tab, told):
        await asyncio.get_running_loop().run_in_executor(None, thread.join, PATIENCE)
        listening.close()
        accepted[0].close()
        await until(told, EngineLost)
        again = address.listen()
        threading.Thread(target=accept, args=(again, address, server), daemon=True).start()
        await tab.restart()
        tab.send(LOAD)
        await until(told, Loaded)


def _dialled(address: Address) -> socket.socket:
    if address.place.isdecimal():
        return socket.create_connection(("127.0.0.1", int(address.place)))
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address.place)
    return connection
