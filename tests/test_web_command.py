"""``lade-chat web`` on the command line: what cannot be served is one line."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable

import pytest

from lade_chat.cli.app import main
from lade_chat.cli.tab import TAB
from lade_chat.engine.sharing.address import ADDRESS, SECRET

pytest.importorskip("textual_serve", reason="textual-serve is not installed: pip install '.[web]'")


def test_without_textual_serve_a_line_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.delitem(sys.modules, "lade_chat.web.server", raising=False)
    monkeypatch.setitem(sys.modules, "textual_serve.server", None)
    assert main(["web", "--port", "0"]) == 1
    assert (
        "lade-chat web needs packages that are not installed. To install: pip install aiohttp 'textual-serve<1.2' yarl"
        in (capsys.readouterr().err)
    )


def test_a_server_whose_engine_cannot_be_started_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def none(*_arguments: object, **_keywords: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", none)
    assert main(["web", "--port", "0"]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: The engine cannot be started")
    assert "Resource temporarily unavailable" in last


@pytest.mark.parametrize(
    ("host", "port"),
    [("no.such.host.invalid", 0), ("203.0.113.7", 0), ("a..b", 18_000), ("a" * 70, 18_000)],
)
def test_an_address_that_is_not_here_is_one_line(capsys: pytest.CaptureFixture[str], host: str, port: int) -> None:
    assert main(["web", "--host", host, "--port", str(port)]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {host} cannot be served")
    assert captured.err.count("\n") == 1


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["web", "--port", str(port)]) == 1
    told = f"error: 127.0.0.1:{port} cannot be served: {os.strerror(errno.EADDRINUSE)}. Try --port 0.\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize(
    ("problem", "code", "line"),
    [
        (errno.ENOSPC, 1, f"error: the output cannot be written: {os.strerror(errno.ENOSPC)}.\n"),
        (errno.EPIPE, 141, ""),
    ],
)
def test_an_address_that_cannot_be_printed_is_not_the_fault_of_the_host(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, problem: int, code: int, line: str
) -> None:
    async def run(_server: object, _ready: Callable[[], None]) -> None:
        raise OSError(problem, os.strerror(problem))

    monkeypatch.setattr("lade_chat.web.server.WebServer.run", run)
    monkeypatch.setattr("lade_chat.cli.app.discard_output", lambda: None)  # of this process
    for variable in (ADDRESS, SECRET, TAB):
        monkeypatch.setenv(variable, "")  # what the server sets is taken back
    assert main(["web", "--port", "0"]) == code
    assert capsys.readouterr().err == line


def test_a_host_that_others_reach_is_warned_of(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(_server: object, ready: Callable[[], None]) -> None:
        ready()

    monkeypatch.setattr("lade_chat.web.server.WebServer.run", run)
    for variable in (ADDRESS, SECRET, TAB):
        monkeypatch.setenv(variable, "")  # what the server sets is taken back
    for host, warned in (("127.0.0.1", False), ("localhost", False), ("0.0.0.0", True)):
        assert main(["web", "--host", host, "--port", "0"]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith("http://")
        assert captured.out.count("\n") == 1
        assert ("warning:" in captured.err) is warned
