"""Access control of the page: a token in the address, and no requests from other sites."""

from __future__ import annotations

import hmac
from html import escape
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from yarl import URL

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
