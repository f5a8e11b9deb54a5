"""The lock on the conversations' file: every program that has it open holds a shared lock on a file beside it.

A file is set aside only under the exclusive lock. To rename it beneath another program that has it open would lose
what that program writes next.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

LOCK_TIMEOUT_SECONDS = 2.0
"""An exclusive lock is held for only some milliseconds."""


class FileLock:
    """One program's lock, which ends with the program however that ends.

    Without such locks (Windows, some network drives) it always succeeds; Windows refuses to rename an open file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def take_shared(self) -> bool:
        """Take the lock shared; False on a timeout. Raises OSError if the file cannot be made."""
        return self._lock(exclusive=False)

    def take_exclusive(self) -> bool:
        """Take the lock exclusively; False on a timeout."""
        return self._lock(exclusive=True)

    def release(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _lock(self, *, exclusive: bool) -> bool:
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
