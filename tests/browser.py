"""A headless Chromium, driven through its DevTools socket: open a page, press keys, read what a terminal was sent."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0
_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|.)")
_KEYS = {"Enter": ("\r", 13), "Escape": ("", 27), "F2": ("", 113), "F3": ("", 114), "F4": ("", 115)}


def found() -> str | None:
    """The browser's program, if there is one here."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab. ``output`` is all that its terminal was sent, without the colours and moves."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.output = ""
        self._socket = socket
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, **parameters: object) -> Any:
        number = len(self._answers) + 1
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        return await asyncio.wait_for(self._answers[number], PATIENCE)

    async def press(self, key: str) -> None:
        text, code = _KEYS[key]
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **about)
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    async def type(self, text: str) -> None:
        for character in text:
            await self.call("Input.dispatchKeyEvent", type="char", text=character, key=character)

    async def sees(self, *texts: str) -> None:
        """Wait until the terminal was sent all of these since the last ``forget``."""
        deadline = time.monotonic() + PATIENCE
        while not all(text in self.output for text in texts):
            if time.monotonic() > deadline:
                about = "location.href + ' ' + document.body.className + ' ' + document.body.innerText"
                page = await self.call("Runtime.evaluate", expression=about)
                raise AssertionError(f"{texts} never came to {page}; the end of what did: {self.output[-1500:]!r}")
            await asyncio.sleep(0.05)

    def forget(self) -> None:
        self.output = ""

    async def picture(self, path: Path) -> None:
        """The page as it looks, as PNG."""
        shot = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    async def close(self) -> None:
        with suppress(Exception):
            await self.call("Page.close")
        self._reading.cancel()

    async def _read(self) -> None:
        raw = ""
        async for message in self._socket:
            event = json.loads(message.data)
            if "id" in event:
                self._answers[event["id"]].set_result(event.get("result"))
            elif event["method"] == "Network.webSocketFrameReceived" and event["params"]["response"]["opcode"] == 2:
                frame = base64.b64decode(event["params"]["response"]["payloadData"])
                raw += frame.decode("utf-8", "replace")
                # An escape sequence never spans two of Textual's frames.
                self.output, raw = self.output + _ESCAPES.sub("", raw), ""


class Browser:
    """Pages of one browser, which share its cookies."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self._session = session
        self._address = address

    async def open(self, url: str, *, width: int = 1000, height: int = 640) -> Page:
        async with self._session.put(f"{self._address}/json/new?about:blank") as answer:
            target = await answer.json()
        page = Page(await self._session.ws_connect(target["webSocketDebuggerUrl"], max_msg_size=0))
        await page.call("Network.enable")
        await page.call("Page.enable")
        await page.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await page.call("Page.navigate", url=url)
        return page


@asynccontextmanager
async def browser(folder: Path) -> AsyncIterator[Browser]:
    """Chromium with a profile in ``folder``."""
    program = found()
    assert program is not None
    process = await asyncio.create_subprocess_exec(
        program,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--remote-debugging-port=0",
        f"--user-data-dir={folder}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told = folder / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE
        while not (told.exists() and "\n" in told.read_text()):
            assert time.monotonic() < deadline, "the browser did not start"
            await asyncio.sleep(0.05)
        async with aiohttp.ClientSession() as session:
            yield Browser(session, f"http://127.0.0.1:{told.read_text().splitlines()[0]}")
    finally:
        process.kill()
        await process.wait()
