"""The engine process that tabs share: each connection is a tab, and all of them have one model.

It ends when its stdin does, so it never outlives whoever started it.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading

import msgspec

from lade_chat.engine.process.server import DEFAULT_ENGINE, EngineServer, load_engine, one_line
from lade_chat.engine.sharing.address import Address
from lade_chat.engine.sharing.shared_engine import CachingEngine, SharedEngine
from lade_chat.protocol.codec import decode_command, encode
from lade_chat.protocol.control import Quit
from lade_chat.protocol.events import Event
from lade_chat.threads import wait_briefly

MOST_TABS = 32
"""Whoever comes on top of these is put out: each tab costs two threads and may hold a cache."""
LONGEST_COMMAND = 1 << 26
"""Bytes. A conversation of this length fits no model."""


class Hub:
    """Takes in whoever says the secret."""

    def __init__(self, address: Address, shared: SharedEngine) -> None:
        self._address = address
        self._shared = shared
        self._places = threading.Semaphore(MOST_TABS)

    def accept(self, listening: socket.socket) -> None:
        """Take in connections for ever."""
        while True:
            connection, _ = listening.accept()
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
        """Take the tab's commands until it goes."""
        tab = self._shared.open_tab()
        gone = threading.Event()

        def emit(event: Event) -> None:
            try:
                if not gone.is_set():
                    connection.sendall(encode(event))
            except OSError:  # nobody listens any more
                gone.set()
                self._shared.close_tab(tab)

        server = EngineServer(lambda: tab, emit)
        threading.Thread(target=server.serve, daemon=True).start()
        try:
            with connection.makefile("rb") as commands:
                while line := commands.readline(LONGEST_COMMAND):
                    try:
                        command = decode_command(line)
                    except msgspec.MsgspecError as error:
                        sys.stderr.write(f"not a command: {one_line(error)}\n")
                        return
                    if isinstance(command, Quit):
                        return
                    server.take(command)
        except OSError:
            pass
        finally:
            gone.set()
            server.close()
            self._shared.close_tab(tab)


def _end_with_stdin(address: Address) -> None:
    """Whoever started this process has ended, and may have been killed: nothing of it is left behind."""
    try:
        while sys.stdin.buffer.read(4096):
            pass
    finally:
        address.remove()
        os._exit(0)


def main() -> None:
    """Serve tabs at the address in the environment until stdin ends. An argument names another engine."""
    wait_briefly()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl+C to the whole group
    address = Address.of_environment()
    if address is None:
        sys.exit("the address to serve is missing")
    name = sys.argv[1] if len(sys.argv) > 1 else DEFAULT_ENGINE

    def make_engine() -> CachingEngine:
        engine: CachingEngine = load_engine(name)  # type: ignore[assignment]
        return engine

    shared = SharedEngine(make_engine)
    listening = address.listen()
    threading.Thread(target=_end_with_stdin, args=(address,), daemon=True).start()
    threading.Thread(target=Hub(address, shared).accept, args=(listening,), daemon=True).start()
    shared.serve()
