"""What people are told when conversations cannot be kept: one line, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from pathlib import Path

from lade_chat.errors import LadeChatError, summary

_NO_ROOM = 64 * 1024
"""Bytes. With less than this SQLite may not even open a file, and says only that something failed."""
_KEPT = "What is not saved yet stays in memory and is tried again"


class StoreError(LadeChatError):
    """A conversation cannot be read or saved. What was to be saved is kept in memory and tried again."""

    def __init__(self, reason: str, way_on: str = "") -> None:
        super().__init__(f"{reason} {way_on}".rstrip())
        self.reason = reason
        """What is wrong, without what will be tried and what to do."""


def explain(error: Exception, path: Path) -> StoreError:
    """The line for an error of SQLite or of the system about the file at ``path``."""
    folder, text = path.parent, str(error)
    told = isinstance(error, OSError) or is_locked(error)  # the reason is the error's own
    if is_full(error) or (not told and _room(folder) < _NO_ROOM):
        return StoreError(f"There is no room left on the disk of {folder}.", f"{_KEPT}: make room.")
    if is_locked(error):
        return StoreError(f"Another program keeps {path} locked.", f"{_KEPT}.")
    if "readonly" in text or isinstance(error, OSError) or not os.access(_nearest(folder), os.W_OK):
        way_on = "make the folder writable, or choose another with --data-dir"
        why = error.strerror if isinstance(error, OSError) and error.strerror else summary(error)
        return StoreError(f"Conversations cannot be saved in {folder} ({why}).", f"{_KEPT}: {way_on}.")
    return StoreError(f"The conversations in {path} cannot be read or saved ({summary(error)}).", f"{_KEPT}.")


def is_full(error: Exception) -> bool:
    """Whether the disk (or a quota) has no room left."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return isinstance(error, sqlite3.Error) and "is full" in str(error)


def is_locked(error: Exception) -> bool:
    """Whether another connection had the file locked for too long."""
    return isinstance(error, sqlite3.Error) and "locked" in str(error)


def is_corrupt(error: Exception) -> bool:
    """Whether SQLite found the file to be none of its own, or broken."""
    text = str(error)
    return isinstance(error, sqlite3.DatabaseError) and ("not a database" in text or "malformed" in text)


def _room(folder: Path) -> int:
    try:
        disk = shutil.disk_usage(_nearest(folder))
    except OSError:
        return _NO_ROOM
    return disk.free if disk.total else _NO_ROOM  # /proc and its kin have none, and are not full


def _nearest(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next((each for each in (folder, *folder.parents) if each.is_dir()), folder)
