"""The web server: textual-serve's, with a page of our own, a guard before it and an engine behind it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from pathlib import Path

from aiohttp import web
from textual_serve.server import Server, to_int

from lade_chat.errors import LadeChatError, one_line
from lade_chat.web.access import TokenAccess
from lade_chat.web.engine_process import EngineProcess

_PAGE = Path(__file__).with_name("page.html")
_CLOSING_SECONDS = 2.0


class WebServer(Server):
    """Runs ``command`` for each tab. Whoever has not opened the address with ``token`` is refused."""

    def __init__(self, command: str, host: str, port: int, token: str, engine: EngineProcess) -> None:
        super().__init__(command, host=host, port=port, title="lade-chat")
        self._access = TokenAccess(token, port)
        self._engine = engine

    async def handle_index(self, request: web.Request) -> web.Response:
        size = to_int(request.query.get("fontsize", "16"), 16)
        page = _PAGE.read_text(encoding="utf-8").replace("FONT_SIZE", str(min(max(size, 6), 72)))
        return web.Response(text=page, content_type="text/html")

    async def run(self, ready: Callable[[], None]) -> None:
        """Serve until SIGINT, SIGTERM or SIGHUP; ``ready`` is called when there is a page to open.

        Raises OSError if the address cannot be served, LadeChatError if the engine cannot be kept up.
        """
        ended = asyncio.Event()
        with contextlib.suppress(NotImplementedError):  # where there are no signals Ctrl+C is an exception
            for number in (signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
                asyncio.get_running_loop().add_signal_handler(number, ended.set)
        app = await self._make_app()
        app.middlewares.append(self._access.middleware)
        app.on_response_prepare.append(self._access.add_headers)
        app.on_startup.clear()  # its greeting
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSING_SECONDS)
        await runner.setup()
        tasks = list[asyncio.Task[object]]()
        try:
            await web.TCPSite(runner, self.host, self.port).start()
            engine = asyncio.create_task(self._engine.keep_up())
            tasks += [engine, asyncio.create_task(ended.wait())]
            ready()
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if engine.done() and (error := engine.exception()) is not None:
                raise LadeChatError(f"The engine cannot be started, so that the server ends: {one_line(error)}.")
        finally:
            for task in tasks:
                task.cancel()
            await runner.cleanup()
