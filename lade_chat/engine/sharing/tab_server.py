"""The engine process that tabs share: each connection is a tab, and all tabs share one model.

It ends when its stdin closes, so it never outlives the process that started it.
"""

from __future__ import annotations

import signal
import socket
import sys
import threading
import time
from contextlib import suppress

from lade_chat.child_process import end_with_parent
from lade_chat.engine.process.command_server import DEFAULT_ENGINE, CommandServer, load_engine, take_commands
from lade_chat.engine.sharing.address import Address
from lade_chat.engine.sharing.shared_queue import CachingEngine, SharedQueue
from lade_chat.protocol.codec import encode
from lade_chat.protocol.events import Event
from lade_chat.runtime import limit_spinning

MAX_TABS = 32
"""Further connections are closed: each tab costs two threads and may hold a cache."""
MAX_COMMAND_BYTES = 1 << 26
"""No model has a context window for a longer conversation."""
PAUSE_SECONDS = 0.1
"""Delay after a connection that could not be accepted."""


class Hub:
    """Accepts the connections that send the secret."""

    def __init__(self, address: Address, shared: SharedQueue) -> None:
        self._address = address
        self._shared = shared
        self._places = threading.Semaphore(MAX_TABS)

    def accept(self, listening: socket.socket) -> None:
        """Accept connections for ever."""
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:  # too many open files, or a client that left while it waited
                time.sleep(PAUSE_SECONDS)
                continue
            threading.Thread(target=self._attend, args=(connection,), daemon=True).start()

    def _attend(self, connection: socket.socket) -> None:
        with connection:
            if not self._address.admits(connection) or not self._places.acquire(blocking=False):
                return
            try:
                self._serve(connection)
            finally:
                self._places.release()

    def _serve(self, connection: socket.socket) -> None:
        tab = self._shared.open_tab()
        gone = threading.Event()

        def emit(event: Event) -> None:
            try:
                if not gone.is_set():
                    connection.sendall(encode(event))
            except OSError:  # the tab has disconnected
                gone.set()
                self._shared.close_tab(tab)

        server = CommandServer(lambda: tab, emit)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            with suppress(OSError), connection.makefile("rb") as commands:
                lines = iter(lambda: commands.readline(MAX_COMMAND_BYTES), b"")
                take_commands(lines, server, skip_invalid=False)
        finally:
            gone.set()
            server.close()
            self._shared.close_tab(tab)


def main() -> None:
    """Serve tabs at the address in the environment until stdin ends. An argument names another engine."""
    limit_spinning()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group
    address = Address.of_environment()
    name = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_ENGINE

    def make_engine() -> CachingEngine:
        engine: CachingEngine = load_engine(name)  # type: ignore[assignment]
        return engine

    shared = SharedQueue(make_engine)
    listening = address.listen()
    end_with_parent(address.remove)
    threading.Thread(target=Hub(address, shared).accept, args=(listening,), daemon=True).start()
    shared.serve()
