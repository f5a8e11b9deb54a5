"""Address of the local socket between the tabs and the engine that they share.

A Unix socket in a folder that only its owner may enter, or a loopback port where there are no Unix sockets. A client
first sends the secret on a line of its own; commands and events then pass as JSON lines.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import socket
from contextlib import suppress
from dataclasses import dataclass

ADDRESS = "_LADE_CHAT_ENGINE"
SECRET = "_LADE_CHAT_ENGINE_SECRET"
"""Environment variables that give a tab its engine's address; unlike arguments, ps does not list them."""
SECRET_SECONDS = 5.0
"""Connections that have not sent the secret by then are closed."""
SOCKET = "engine"
"""The name of the socket in its folder."""
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Address:
    """``place`` is the path of a Unix socket, or the number of a port on the loopback."""

    place: str
    secret: str

    @classmethod
    def new(cls, folder: str) -> Address:
        """A new address with a new secret. ``folder`` must be accessible to the user alone."""
        place = os.path.join(folder, SOCKET) if hasattr(socket, "AF_UNIX") else str(free_port(_LOOPBACK))
        return cls(place, secrets.token_urlsafe(32))

    @classmethod
    def of_environment(cls) -> Address:
        """The address in this process's environment; removed so that child processes do not inherit it."""
        return cls(os.environ.pop(ADDRESS), os.environ.pop(SECRET))

    @property
    def environment(self) -> dict[str, str]:
        return {ADDRESS: self.place, SECRET: self.secret}

    def listen(self) -> socket.socket:
        """A listening socket. Raises OSError."""
        if self.place.isdecimal():
            return socket.create_server((_LOOPBACK, int(self.place)))
        if os.path.exists(self.place):
            os.unlink(self.place)  # left by an engine that died
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self.place)
        os.chmod(self.place, 0o600)
        listening.listen()
        return listening

    async def connect(self, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect and send the secret; ``limit`` is the longest line in bytes. Raises OSError."""
        if self.place.isdecimal():
            reader, writer = await asyncio.open_connection(_LOOPBACK, int(self.place), limit=limit)
        else:
            reader, writer = await asyncio.open_unix_connection(self.place, limit=limit)
        writer.write(self.secret.encode() + b"\n")
        return reader, writer

    def remove(self) -> None:
        """Remove the socket, and its folder if that is empty."""
        if not self.place.isdecimal():
            with suppress(OSError):
                os.unlink(self.place)
                os.rmdir(os.path.dirname(self.place))

    def admits(self, connection: socket.socket) -> bool:
        """Return True if the connection sends the secret in time."""
        expected = self.secret.encode() + b"\n"
        connection.settimeout(SECRET_SECONDS)
        received = b""
        try:
            while len(received) < len(expected) and (more := connection.recv(len(expected) - len(received))):
                received += more
        except OSError:
            return False
        connection.settimeout(None)
        return hmac.compare_digest(received, expected)


def free_port(host: str) -> int:
    """A port that nothing listens on. Raises OSError."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listening:
        listening.bind((host, 0))
        port: int = listening.getsockname()[1]
        return port
