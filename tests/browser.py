"""Tabs of a headless Chromium, driven by Playwright: press keys, and read what a tab's terminal was sent."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from playwright.async_api import Page, WebSocket, async_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0
_FLAGS = ("--disable-gpu", "--disable-quic", "--disable-sync")
_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|.)")


def found() -> str | None:
    """The path of an installed browser, None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Tab:
    """One tab; ``output`` is all that its terminal was sent, without the colours and moves."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.output = ""
        page.on("websocket", self._listen)

    async def type(self, text: str, *keys: str) -> None:
        """Type the text, then press the keys named."""
        await self.page.keyboard.type(text)
        for key in keys:
            await self.page.keyboard.press(key)

    async def sees(self, *texts: str) -> None:
        """Wait until the terminal was sent all of these since the last ``forget``."""
        deadline = time.monotonic() + PATIENCE
        while not all(text in self.output for text in texts):
            assert time.monotonic() < deadline, f"{texts} never came; the end of what did: {self.output[-1500:]!r}"
            await asyncio.sleep(0.05)

    def forget(self) -> None:
        self.output = ""

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._take)

    def _take(self, frame: str | bytes) -> None:
        # The screen comes in binary frames, and an escape sequence never spans two of Textual's.
        if isinstance(frame, bytes):
            self.output += _ESCAPES.sub("", frame.decode("utf-8", "replace"))


@asynccontextmanager
async def browser() -> AsyncIterator[Callable[[str], Awaitable[Tab]]]:
    """Start the installed browser; yields what opens a tab at an address. The tabs share their cookies."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=found(), args=_FLAGS)
        context = await chromium.new_context(viewport={"width": 1000, "height": 640})

        async def open_tab(url: str) -> Tab:
            tab = Tab(await context.new_page())
            await tab.page.goto(url)
            return tab

        try:
            yield open_tab
        finally:
            await chromium.close()
