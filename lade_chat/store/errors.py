"""Errors of the store: one line for the user, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

from lade_chat.errors import LadeChatError, summary

_MIN_FREE_BYTES = 64 * 1024
"""With less, SQLite may not even open a file, and reports only a general error."""
GONE_ON = "This conversation has gone on elsewhere too: both ways are kept, and shown when it is opened again."
_KEPT = "What is not saved yet stays in memory and is tried again"
_LAST = "if this persists, move the file away; a new one is created"


class StoreError(LadeChatError):
    """A conversation cannot be read or saved. What was to be saved is kept in memory and tried again."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(f"{reason} {hint}".rstrip())
        self.reason = reason
        """The problem alone, without the hint."""


def written_by_newer(path: Path) -> StoreError:
    """Return the error for a file of a later version of the application, which could not read ours any better."""
    return StoreError(
        f"The conversations in {path} were written by a newer lade-chat, and are left as they are.",
        f"{_KEPT}: update lade-chat, or choose another folder with --data-dir.",
    )


def explain(error: Exception, path: Path) -> StoreError:
    """Translate an error of SQLite or of the system about the file at ``path``."""
    folder, text = path.parent, str(error)
    is_specific = isinstance(error, OSError) or is_locked(error)
    if _is_unwritten(error) and _room(folder) >= _MIN_FREE_BYTES:
        return StoreError(
            f"Nothing can be written to the disk of {folder}: your quota may be used up.", f"{_KEPT}: make room."
        )
    if is_full(error) or (not is_specific and _room(folder) < _MIN_FREE_BYTES):
        return StoreError(f"There is no room left on the disk of {folder}.", f"{_KEPT}: make room.")
    if is_locked(error):
        return StoreError(f"Another program keeps {path} locked.", f"{_KEPT}.")
    if "readonly" in text or isinstance(error, OSError) or not os.access(_nearest(folder), os.W_OK):
        hint = "make the folder writable, or choose another with --data-dir"
        why = error.strerror if isinstance(error, OSError) and error.strerror else summary(error)
        return StoreError(f"Conversations cannot be saved in {folder} ({why}).", f"{_KEPT}: {hint}.")
    return StoreError(f"The conversations in {path} cannot be read or saved ({summary(error)}).", f"{_KEPT}: {_LAST}.")


def is_full(error: Exception) -> bool:
    """Tell whether the disk (or a quota) is full."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return isinstance(error, sqlite3.Error) and ("is full" in str(error) or _is_unwritten(error))


def is_locked(error: Exception) -> bool:
    """Tell whether another connection kept the file locked for too long."""
    return isinstance(error, sqlite3.Error) and "locked" in str(error)


def is_corrupt(error: Exception) -> bool:
    """Tell whether the file is damaged or not a database."""
    if isinstance(error, UnicodeDecodeError):  # of what SQLite says about a damaged schema
        return True
    text = str(error)
    return isinstance(error, sqlite3.DatabaseError) and ("not a database" in text or "malformed" in text)


def _is_unwritten(error: Exception) -> bool:
    """Tell whether the system did not write to the file, which is all that SQLite says of a quota."""
    return getattr(error, "sqlite_errorname", "") in ("SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE")


def _room(folder: Path) -> int:
    try:
        disk = shutil.disk_usage(_nearest(folder))
    except OSError:
        return _MIN_FREE_BYTES
    return disk.free if disk.total else _MIN_FREE_BYTES  # /proc and the like report no size


def _nearest(folder: Path) -> Path:
    return next((each for each in (folder, *folder.parents) if each.is_dir()), folder)
