"""The web server: textual-serve's, with a page of our own, a guard before it and an engine behind it.

The tabs share the engine: its process is started again if it dies and ended with the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int
from yarl import URL

from lade_chat.child_processes import Child
from lade_chat.engine.sharing.address import SOCKET, Address
from lade_chat.errors import LadeChatError, one_line

REFUSAL = "This is lade-chat. Open the whole address that `lade-chat web` has printed: it ends with a token.\n"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'none'"
)


_MOVE_ON = '<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={address}">lade-chat\n'
"""Sent with the cookie. A redirection would not do: after a link on another site it would go without the cookie."""


class TokenAccess:
    """Middleware: the token in the address earns a cookie, without which there is nothing to see.

    Browsers send a cookie to every port of a host, so it is not the token, but derived from it: what listens on
    another port never learns the address. A socket is opened only by a page of this very server: a browser lets other
    sites try, and sends the cookie along.
    """

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._cookie = f"lade-chat-{port}"
        self._session = hmac.new(token.encode(), self._cookie.encode(), "sha256").hexdigest()

    @property
    def middleware(self) -> Middleware:
        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.path == "/" and _same(request.query.get("token", ""), self._token):
                return self._let_in(request)
            if not _same(request.cookies.get(self._cookie, ""), self._session) or not _is_own_page(request):
                return web.Response(status=403, text=REFUSAL)
            return await handler(request)

        return guarded

    @staticmethod
    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        """Add the security headers to a response before it is sent."""
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"

    def _let_in(self, request: web.Request) -> web.Response:
        """The cookie, and the page's address without the token."""
        address = URL("/").with_query({name: value for name, value in request.query.items() if name != "token"})
        response = web.Response(text=_MOVE_ON.format(address=escape(str(address))), content_type="text/html")
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="Strict")
        return response


def _same(given: str, expected: str) -> bool:
    """Compare in constant time; bytes that were no UTF-8 are surrogates in ``given``."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _is_own_page(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    try:
        return origin is None or urlsplit(origin).netloc == request.host
    except ValueError:
        return False


_PAUSE_SECONDS = 1.0
"""Delay before a restart, for an engine that dies at once."""


async def keep_engine(address: Address) -> None:
    """Keep an engine for the tabs at ``address`` running until cancelled; report each that dies. Raises OSError."""
    while True:
        child = Child("lade_chat.engine.sharing.tab_server:main", environment=address.environment)
        try:
            how = await asyncio.to_thread(child.ended)
        finally:
            child.kill()
        sys.stderr.write(f"the engine {how}; it is started again\n")
        await asyncio.sleep(_PAUSE_SECONDS)


PREFIX = "lade-chat-"
MAX_PATH_BYTES = 100
"""The path of a Unix socket holds 104 bytes at most on some systems, 108 on others."""
_SHORT = "/tmp"


def socket_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for the user alone while the server runs; its engine removes a killed one's. Raises OSError."""
    parent = tempfile.gettempdir()
    if len(os.fsencode(os.path.join(parent, f"{PREFIX}12345678", SOCKET))) > MAX_PATH_BYTES and os.path.isdir(_SHORT):
        parent = _SHORT
    return tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)


_PAGE = Path(__file__).with_name("page.html")
_CLOSING_SECONDS = 2.0


class WebServer(Server):
    """Runs ``command`` for each tab. Whoever has not opened the address with ``token`` is refused."""

    def __init__(self, command: str, host: str, port: int, token: str, address: Address) -> None:
        super().__init__(command, host=host, port=port, title="lade-chat")
        self._access = TokenAccess(token, port)
        self._address = address
        self._ends_of_tabs = set[asyncio.Task[int]]()

    async def handle_index(self, request: web.Request) -> web.Response:
        size = to_int(request.query.get("fontsize", "16"), 16)
        page = _PAGE.read_text(encoding="utf-8").replace("FONT_SIZE", str(min(max(size, 6), 72)))
        return web.Response(text=page, content_type="text/html")

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Obey a tab's messages; one that is malformed ends the tab, without a traceback in the server's terminal."""
        if (process := app_service._process) is not None:
            self._ends_of_tabs.add(end := asyncio.create_task(process.wait()))
            end.add_done_callback(self._ends_of_tabs.discard)
        with contextlib.suppress(AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            await super()._process_messages(websocket, app_service)

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
            engine = asyncio.create_task(keep_engine(self._address))
            tasks += [engine, asyncio.create_task(ended.wait())]
            ready()
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if engine.done() and (error := engine.exception()) is not None:
                raise LadeChatError(f"The engine cannot be started, so that the server ends: {one_line(error)}.")
        finally:
            for task in tasks:
                task.cancel()
            await runner.cleanup()
            if self._ends_of_tabs:  # a process that outlives the event loop leaves a traceback
                await asyncio.wait(self._ends_of_tabs, timeout=_CLOSING_SECONDS)
