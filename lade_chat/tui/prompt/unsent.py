"""Unsent text of the prompt, kept beside the conversations for the next start."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from lade_chat.paths import atomic_write


class UnsentText:
    """The prompt's unsent text on disk: in a file of this program's, which a later one takes over if it is killed.

    A failure to write or to read is ignored.
    """

    def __init__(self, folder: Path) -> None:
        # What another window has left is never overwritten: it is the only copy.
        self._own, self._left = (folder / f"unsent-{os.getpid()}{ending}.txt" for ending in ("", "-left"))
        self.kept = ""
        """The text that was written last."""

    def keep(self, text: str) -> None:
        """Write the text in place of the one before; delete that if it is empty."""
        with suppress(OSError):
            if text:
                atomic_write(self._own, text.encode(errors="replace"))
            else:
                self._own.unlink(missing_ok=True)
            self.kept = text

    def leave(self, text: str) -> None:
        """Leave the text to the next start, as the program ends and keeps no more."""
        with suppress(OSError):
            if text:
                atomic_write(self._left, text.encode(errors="replace"))
            self._own.unlink(missing_ok=True)

    def take_over(self) -> str:
        """Return the latest text that a program left which has ended; empty if there is none."""
        with suppress(OSError, UnicodeError):
            found = [file for file in self._own.parent.glob("unsent*.txt") if not _is_in_use(file)]
            for file in sorted(found, key=lambda file: file.stat().st_mtime)[-1:]:
                file.replace(self._own)
                self.kept = self._own.read_text(encoding="utf-8")
        return self.kept


def _is_in_use(file: Path) -> bool:
    """Return True if the program that writes the file still runs."""
    number = file.stem.rpartition("-")[2]
    if not number.isdecimal() or int(number) == os.getpid():  # an earlier program had the same one
        return False
    import psutil

    return psutil.pid_exists(int(number))
