"""Who has the conversations' file open: every program that does holds a shared lock on a small file beside it.

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

PATIENCE_SECONDS = 2.0
"""How long to wait for others. An exclusive lock is held for some milliseconds."""


class Guard:
    """One program's lock, which goes with the program however it ends.

    Where there are no such locks (Windows, some network drives) it always has its way; Windows renames no open file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._handle: int | None = None

    def share(self) -> bool:
        """Hold the lock with others; False if one has it alone for too long. OSError if the file cannot be made."""
        return self._lock(exclusive=False)

    def take_alone(self) -> bool:
        """Hold the lock alone; False if others still have it after some waiting."""
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
        deadline = time.monotonic() + PATIENCE_SECONDS
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
