"""The engine that the tabs share: its process, restarted if it dies and ended with the server, and its socket."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lade_chat.child_process import Child
from lade_chat.engine.sharing.address import SOCKET, Address

_PAUSE_SECONDS = 1.0
"""Delay before a restart, for an engine that dies at once."""


async def keep_engine(address: Address, report: Callable[[str], None], engine: str | None = None) -> None:
    """Keep an engine running until this is cancelled. Raises OSError if none can be started.

    Args:
        address: where it serves the tabs.
        report: called with a line when it has died.
        engine: ``module:factory`` of another engine than the chat's.
    """
    while True:
        arguments = [engine] if engine is not None else []
        child = Child("lade_chat.engine.sharing.tab_server:main", *arguments, environment=address.environment)
        try:
            how = await asyncio.to_thread(child.ended)
        finally:
            child.kill()
        report(f"the engine {how}; it is started again")
        await asyncio.sleep(_PAUSE_SECONDS)


PREFIX = "lade-chat-"
NEW_SECONDS = 60.0
"""A folder younger than this may be one whose server is about to lock it."""
MAX_PATH_BYTES = 100
"""The path of a Unix socket holds 104 bytes at most on some systems, 108 on others."""
_SHORT = "/tmp"


@contextmanager
def socket_folder() -> Iterator[str]:
    """A folder that only the user may enter; those that killed servers have left behind are removed first.

    The server holds a lock on its folder, which the system lets go of however the process ends. Raises OSError.
    """
    parent = tempfile.gettempdir()
    if len(os.fsencode(os.path.join(parent, f"{PREFIX}12345678", SOCKET))) > MAX_PATH_BYTES and os.path.isdir(_SHORT):
        parent = _SHORT
    _sweep(Path(parent))
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent, ignore_cleanup_errors=True) as folder:
        lock = _locked(folder)
        try:
            yield folder
        finally:
            if lock is not None:
                os.close(lock)


def _sweep(parent: Path) -> None:
    """Remove the user's own folders that nobody holds and that contain no more than a socket."""
    if os.name == "nt":
        return  # there the engine listens on a port
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            about = folder.lstat()
            old = time.time() - about.st_mtime > NEW_SECONDS
            if not old or about.st_uid != os.getuid() or not folder.is_dir() or folder.is_symlink():
                continue
            lock = _locked(str(folder))
            if lock is None:
                continue
            try:
                if {each.name for each in folder.iterdir()} <= {SOCKET}:
                    (folder / SOCKET).unlink(missing_ok=True)
                    folder.rmdir()
            finally:
                os.close(lock)


def _locked(folder: str) -> int | None:
    """A descriptor that holds the folder's lock; None where another process holds it, or where there are no locks."""
    if os.name == "nt":
        return None
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
