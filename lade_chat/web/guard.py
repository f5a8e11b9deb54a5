"""Who may see the page: whoever has opened the address with its token, and no page of another site."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

REFUSAL = "This is lade-chat. Open the whole address that `lade-chat web` has printed: it ends with a token.\n"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " font-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'none'"
)


class Guard:
    """Middleware: the token in the address becomes a cookie, without which there is nothing to see.

    A socket is opened only by a page of this very server: a browser lets other sites try, and sends the cookie along.
    """

    def __init__(self, token: str, port: int) -> None:
        self._token = token
        self._cookie = f"lade-chat-{port}"

    @property
    def middleware(self) -> Middleware:
        @web.middleware
        async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
            given = request.query.get("token")
            if given is not None and self._is_token(given) and request.path == "/":
                kept = {name: value for name, value in request.query.items() if name != "token"}
                response = web.HTTPFound(str(request.url.with_path("/").with_query(kept).relative()))
                response.set_cookie(self._cookie, self._token, httponly=True, samesite="Lax")
                raise response
            if not self._is_token(request.cookies.get(self._cookie, "")) or not _is_own_page(request):
                return web.Response(status=403, text=REFUSAL)
            return await handler(request)

        return guarded

    @staticmethod
    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        """To be called before a response is sent."""
        response.headers["Content-Security-Policy"] = _POLICY
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Content-Type-Options"] = "nosniff"

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


def _is_own_page(request: web.Request) -> bool:
    origin = request.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == request.host
