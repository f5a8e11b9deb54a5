"""The engine process that tabs share: each connection is a client of one ``CommandServer``.

It ends when its stdin closes, so it never outlives the process that started it.
"""

from __future__ import annotations

import signal
import socket
import threading
import time
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

from lade_chat.child_processes import end_with_parent, limit_spinning
from lade_chat.engine.process.command_server import CommandServer, load_engine, take_commands
from lade_chat.engine.sharing.address import Address
from lade_chat.protocol.codec import encode
from lade_chat.protocol.events import Event

MAX_TABS = 32
"""Further connections are closed: each tab costs two threads and may hold a cache."""
MAX_COMMAND_BYTES = 1 << 26
"""No model has a context window for a longer conversation."""
PAUSE_SECONDS = 0.1
"""Delay after a connection that could not be accepted."""


def accept(listening: socket.socket, address: Address, server: CommandServer) -> None:
    """Accept the connections that send the secret, for ever."""
    places = threading.Semaphore(MAX_TABS)

    def attend(connection: socket.socket) -> None:
        with connection:
            if address.admits(connection) and places.acquire(blocking=False):
                try:
                    _serve(connection, server)
                finally:
                    places.release()

    while True:
        try:
            connection, _ = listening.accept()
        except OSError:  # too many open files, or a client that left while it waited
            time.sleep(PAUSE_SECONDS)
            continue
        threading.Thread(target=attend, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket, server: CommandServer) -> None:
    events: SimpleQueue[Event | None] = SimpleQueue()
    client = server.open(events.put)

    def send() -> None:
        with suppress(OSError):  # the tab has disconnected
            while (event := events.get()) is not None:
                connection.sendall(encode(event))
        server.close(client)

    threading.Thread(target=send, daemon=True).start()
    try:
        with suppress(OSError), connection.makefile("rb") as commands:
            lines = iter(lambda: commands.readline(MAX_COMMAND_BYTES), b"")
            take_commands(lines, partial(server.take, client), skip_invalid=False)
    finally:
        server.close(client)
        events.put(None)


def main() -> None:
    """Serve tabs at the address in the environment until stdin ends."""
    limit_spinning()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group
    address = Address.of_environment()
    server = CommandServer(load_engine)
    listening = address.listen()
    end_with_parent(address.remove)
    threading.Thread(target=accept, args=(listening, address, server), daemon=True).start()
    server.serve()
