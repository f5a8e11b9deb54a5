"""The conversations' file among its neighbours: private to the user, locked, and set aside where it is damaged."""

from __future__ import annotations

import os
import sqlite3
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

from lade_chat.store.errors import is_corrupt
from lade_chat.store.sqlite import schema

_COMPANIONS = ("", "-wal", "-shm")
"""SQLite finds the last changes and the index to them by these endings."""


def default_folder() -> Path:
    """Return the platform's folder for user data."""
    from platformdirs import user_data_path

    return user_data_path("lade-chat", appauthor=False)


def make_private(path: Path) -> None:
    """Make the file if it is missing, readable by its owner only, and so the folder.

    A folder that was there already is left as it is: the user may have named one that others use. Raises OSError.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never opened if it is there: closing any handle of a file would end this process's other locks on it.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    for companion in _companions(path):
        with suppress(OSError):
            if companion.stat().st_mode & 0o077:
                companion.chmod(0o600)


def is_damaged(path: Path) -> bool:
    """Check the file, and rebuild its indexes if only they may be damaged. Raises OSError and sqlite3.Error."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            schema.version(connection)
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict == "ok":
                connection.execute("REINDEX")
    except schema.NewerSchemaError:
        return False
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if is_corrupt(error):
            return True
        raise
    return bool(verdict != "ok")


def set_aside(path: Path) -> str:
    """Rename the file, which no other program has open; returns the line that says so. Raises OSError."""
    target = _free_name(path, f"{time.strftime('%Y-%m-%d')}-damaged")
    for old, new in zip(_companions(path), _companions(target), strict=True):
        with suppress(FileNotFoundError):
            old.rename(new)
    return f"The conversations kept so far are damaged: they were set aside as {target}, and a new file was begun."


def _free_name(path: Path, label: str) -> Path:
    target, number = path.with_name(f"{path.stem}-{label}{path.suffix}"), 1
    while any(companion.exists() for companion in _companions(target)):
        number += 1
        target = path.with_name(f"{path.stem}-{label}-{number}{path.suffix}")
    return target


def _companions(path: Path) -> list[Path]:
    return [path.with_name(path.name + ending) for ending in _COMPANIONS]


if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT_SECONDS = 2.0
"""An exclusive lock is held for only some milliseconds."""


class FileLock:
    """One program's lock, which ends with the program however that ends.

    Every program that has the conversations' file open holds a shared lock on a file beside it. A file is set aside
    only under the exclusive lock: to rename it beneath another program would lose what that program writes next.
    Without such locks (Windows, some network drives) it always succeeds; Windows refuses to rename an open file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def take(self, *, exclusive: bool) -> bool:
        """Take the lock; False on a timeout. Raises OSError if the file cannot be made."""
        self.release()
        if sys.platform == "win32":
            return True
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + LOCK_TIMEOUT_SECONDS
        while True:
            try:
                fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(handle)
                    return False
                time.sleep(0.02)
            except OSError:
                break
            else:
                break
        self._handle = handle
        return True

    def __del__(self) -> None:
        with suppress(OSError):
            self.release()
