"""The local socket between tabs and the one engine that they share: where it is, and who may speak through it.

A Unix socket in a folder that only its owner may enter, where there are such sockets; else a port on the loopback.
Whoever connects first says the secret on a line of its own; after that, commands and events pass as JSON lines.
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
"""The environment variables that tell a tab where its engine is: what stands in the environment is not listed by ps."""
SECRET_SECONDS = 5.0
"""Whoever has not said the secret by then is put out."""
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
        """An address that nobody else knows. ``folder`` is one that only the user may enter."""
        return cls(os.path.join(folder, SOCKET) if hasattr(socket, "AF_UNIX") else str(_free_port()), new_secret())

    @classmethod
    def of_environment(cls) -> Address | None:
        """The address that this process was given, if any; taken out of what it hands on to others."""
        place, secret = os.environ.pop(ADDRESS, None), os.environ.pop(SECRET, None)
        return cls(place, secret) if place and secret else None

    @property
    def environment(self) -> dict[str, str]:
        return {ADDRESS: self.place, SECRET: self.secret}

    def listen(self) -> socket.socket:
        """A socket on which connections come in. Raises OSError."""
        if self.place.isdecimal():
            return socket.create_server((_LOOPBACK, int(self.place)))
        if os.path.exists(self.place):
            os.unlink(self.place)  # of an engine that died
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self.place)
        os.chmod(self.place, 0o600)
        listening.listen()
        return listening

    async def connect(self, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection that has said the secret; ``limit`` is the longest line in bytes. Raises OSError."""
        if self.place.isdecimal():
            reader, writer = await asyncio.open_connection(_LOOPBACK, int(self.place), limit=limit)
        else:
            reader, writer = await asyncio.open_unix_connection(self.place, limit=limit)
        writer.write(self.secret.encode() + b"\n")
        return reader, writer

    def remove(self) -> None:
        """Take the socket away, and its folder if nothing else is in it."""
        if not self.place.isdecimal():
            with suppress(OSError):
                os.unlink(self.place)
                os.rmdir(os.path.dirname(self.place))

    def admits(self, connection: socket.socket) -> bool:
        """Whether whoever has connected says the secret, and soon."""
        expected = self.secret.encode() + b"\n"
        connection.settimeout(SECRET_SECONDS)
        said = b""
        try:
            while len(said) < len(expected) and (more := connection.recv(len(expected) - len(said))):
                said += more
        except OSError:
            return False
        connection.settimeout(None)
        return hmac.compare_digest(said, expected)


def new_secret() -> str:
    """What whoever connects has to say first: 32 random bytes, as text."""
    return secrets.token_urlsafe(32)


def _free_port() -> int:
    with socket.create_server((_LOOPBACK, 0)) as listening:
        port: int = listening.getsockname()[1]
        return port
