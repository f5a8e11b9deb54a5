"""The engine that the tabs share: its process, restarted if it dies and ended with the server, and its socket."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

from lade_chat.child_process import Child
from lade_chat.engine.sharing.address import SOCKET, Address

_PAUSE_SECONDS = 1.0
"""Delay before a restart, for an engine that dies at once."""


async def keep_engine(address: Address, engine: str | None) -> None:
    """Keep an engine that serves the tabs at ``address`` running until this is cancelled; tells of each that has died.

    ``engine``: ``module:factory`` of another engine than the chat's. Raises OSError if none can be started.
    """
    while True:
        arguments = [engine] if engine is not None else []
        child = Child("lade_chat.engine.sharing.tab_server:main", *arguments, environment=address.environment)
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
    """A folder that only the user may enter, for as long as the server runs; its engine removes that of a killed one.

    Raises OSError.
    """
    parent = tempfile.gettempdir()
    if len(os.fsencode(os.path.join(parent, f"{PREFIX}12345678", SOCKET))) > MAX_PATH_BYTES and os.path.isdir(_SHORT):
        parent = _SHORT
    return tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True)
