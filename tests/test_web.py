"""The chat in a browser: who gets in, and the whole of it in a real Chromium over a scripted engine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Event, ReplyStarted, Tokens
from lade_chat.protocol.values import Piece, Statistics
from tests.browser import browser, found
from tests.engines import ScriptedEngine, ending, sides

pytest.importorskip("textual_serve", reason="textual-serve is not installed: pip install '.[web]'")
import aiohttp

PATIENCE = 60.0
WORDS = ("Seven", " green", " bottles", " standing", " on", " a", " wall", ".")
needs_chromium = pytest.mark.skipif(found() is None, reason="there is no Chromium here")
posix = pytest.mark.skipif(os.name == "nt", reason="the server is ended by a signal here")


def words(job: Job) -> Iterator[Event]:
    """Say the same words to everything, a word a step."""
    yield ReplyStarted(9)
    for side in sides(job):
        for number, word in enumerate(WORDS):
            if not job.stopped:
                time.sleep(0.02)
                yield Tokens((Piece(word, "plain", number, number),), _figures(number + 1, job), side)
        yield ending(job, _figures(len(WORDS), job), side)
    if isinstance(job.command, Compare):
        yield ComparisonFinished(1.5, identical=True)


def _figures(count: int, job: Job) -> Statistics:
    return Statistics(
        generated_tokens=count,
        steps=count,
        seconds=0.1 * count,
        time_to_first_token=0.1,
        context_used=9 + count,
        context_window=2048,
        lookahead=job.lookahead,
    )


def talking() -> ScriptedEngine:
    return ScriptedEngine(words)


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """``lade-chat web`` over the scripted engine; the address that it printed, and its process."""
    code = f"""
import sys
sys.path[:] = {sys.path!r}
from lade_chat.cli.tab import TabOptions
from lade_chat.cli.web import serve
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.web import server
whole = server.Child
server.Child = lambda main, **others: whole(main, "tests.test_web:talking", **others)
sys.exit(serve(TabOptions(ModelOptions(), DecodingOptions()), "127.0.0.1", 0))
"""
    environment = {**os.environ, "LADE_CHAT_SETTINGS": str(folder / "settings.toml"), "XDG_DATA_HOME": str(folder)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None
    try:
        yield (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode().strip(), process
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), PATIENCE)


# --- who gets in --------------------------------------------------------------------------------------------------


@posix
async def test_the_token_lets_in_and_nothing_else_does(tmp_path: Path) -> None:
    async with served(tmp_path) as (url, process):
        base, _, token = url.partition("/?token=")
        assert len(token) >= 43
        async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as stranger:
            for path in ("/", "/ws", "/static/js/textual.js", "/?token=wrong", f"/ws?token={token}"):
                async with stranger.get(base + path, allow_redirects=False) as answer:
                    assert answer.status == 403, path
            async with stranger.get(f"{url}&fontsize=20", allow_redirects=False) as answer:
                # A page that moves on by itself: a redirection from another site's link would not bring the cookie.
                assert answer.status == 200
                assert 'content="0; url=/?fontsize=20"' in await answer.text()
                cookie = answer.cookies[next(iter(answer.cookies))]
            assert token not in str(cookie)
            assert cookie["httponly"]
            assert cookie["samesite"] == "Strict"
            kept = {"Cookie": f"{cookie.key}={cookie.value}"}
            async with stranger.get(base, headers=kept) as answer:
                assert answer.status == 200
                assert "http" not in (await answer.text()).replace("https:", "")  # nothing from elsewhere
                assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            for origin, status in (("http://evil.example", 403), ("null", 403), ("http://[", 403)):
                async with stranger.get(f"{base}/ws", headers={**kept, "Origin": origin}) as answer:
                    assert answer.status == status
            for junk in ("[" * 10_000, '["stdin", "\\ud800"]'):
                async with stranger.ws_connect(f"{base}/ws", headers=kept) as tab:
                    await tab.send_str(junk)
                    async for _ in tab:  # until the server closes it
                        pass

        # Bytes that no client library would send: the server refuses them too, and goes on.
        cookies = (b"\xff\xfe", "ключ".encode(), b"", b"a" * 6000, b'"\\377')
        port = urlsplit(url).port
        answers = [
            await _raw_get(port, path, f"lade-chat-{port}=".encode() + cookie)
            for path in ("/", "/?token=%FF%FE", "/?token=" + "%D0%BA" * 20)
            for cookie in cookies
        ]
        assert {answer.split(b" ")[1] for answer in answers} == {b"403"}
        process.send_signal(signal.SIGINT)
        _out, errors = await asyncio.wait_for(process.communicate(), PATIENCE)
        assert b"Traceback" not in errors


async def _raw_get(port: int | None, path: str, cookie: bytes) -> bytes:
    """The answer to a request whose bytes no client library would send."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = [f"GET {path} HTTP/1.1".encode(), b"Host: 127.0.0.1", b"Connection: close", b"Cookie: " + cookie, b"", b""]
    writer.write(b"\r\n".join(lines))
    answer = await asyncio.wait_for(reader.read(), PATIENCE)
    writer.close()
    return answer


@posix
async def test_ctrl_c_ends_the_server_and_its_engine(tmp_path: Path) -> None:
    async with served(tmp_path) as (_url, process):
        engine = await _child_of(process.pid)
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
        deadline = time.monotonic() + PATIENCE
        while _alive(engine):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.02)


@posix
async def test_an_engine_that_was_killed_is_told_and_started_again(tmp_path: Path) -> None:
    async with served(tmp_path) as (_url, process):
        assert process.stderr is not None
        engine = await _child_of(process.pid)
        os.kill(engine, signal.SIGKILL)
        while (line := await asyncio.wait_for(process.stderr.readline(), PATIENCE)).startswith(b"Open this address"):
            pass
        told = "the engine was ended by SIGKILL (perhaps the system ran out of memory); it is started again"
        assert line.decode().strip() == told
        assert await _child_of(process.pid) != engine


@posix
async def test_a_killed_server_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    async with served(tmp_path) as (_url, process):
        engine = await _child_of(process.pid)
        await _until(lambda: bool(list(tmp_path.glob("lade-chat-*/engine"))))
        process.kill()
        await _until(lambda: not _alive(engine))
        await _until(lambda: not list(tmp_path.glob("lade-chat-*")))


async def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def _child_of(parent: int) -> int:
    deadline = time.monotonic() + PATIENCE
    while True:
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        found_here = [int(line.split()[0]) for line in listed.splitlines() if line.split()[1] == str(parent)]
        if found_here:
            return found_here[0]
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- a browser ----------------------------------------------------------------------------------------------------


@posix
@needs_chromium
async def test_two_tabs_type_stream_toggle_and_compare(tmp_path: Path) -> None:
    async with served(tmp_path) as (url, _process), browser() as open_tab:
        first = await open_tab(url)
        await first.sees("scripted", "ready")
        second = await open_tab(url.partition("?")[0])  # the cookie lets it in
        await second.sees("scripted", "ready")
        await first.type("Tell me about", "Alt+Enter")
        await first.type("bottles", "Enter")
        await first.sees("Tell me about", "bottles", "wall", "tokens/step")
        assert "bottles standing" not in second.output
        first.forget()
        await first.type("", "F2")
        await first.sees("lookahead OFF")
        first.forget()
        await first.type("", "F3")
        await first.sees("identical")
        await second.type("Hello", "Enter")
        await second.sees("Hello", "wall", "tokens/step", "lookahead ON")
        await first.page.close()
        second.forget()
        await second.type("Again", "Enter")
        await second.sees("Again", "tokens/step")
