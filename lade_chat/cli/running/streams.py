"""The standard streams as a program is given them: some may be closed, and a disk may be full."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

from lade_chat.errors import LadeChatError

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, *([errno.EDQUOT] if hasattr(errno, "EDQUOT") else [])}


class OutputError(LadeChatError):
    """What is to be told on standard output cannot be written there."""


class ClosedOutput(io.TextIOBase):
    """Standard output where it was closed: a result has nowhere to go, and is not thrown away in silence."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Raises OutputError."""
        raise OutputError("standard output is closed: there is nowhere to write to (> /dev/null throws it away).")


def claim_streams() -> None:
    """Have all three descriptors open, so that no file takes the place of one, and streams for what is told.

    What would go to a closed stderr goes nowhere.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            with suppress(OSError):
                os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free: this one
    sys.stdout = sys.stdout or ClosedOutput()
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character must not end a reply


def require_output() -> None:
    """To be called before work whose result goes to standard output. Raises OutputError if that is closed."""
    if isinstance(sys.stdout, ClosedOutput):
        sys.stdout.write("")


def is_of_output(error: OSError) -> bool:
    """Whether it is a stream that could not be written; what is the matter with a file names the file."""
    return error.filename is None and error.errno in _FULL


def discard_output() -> None:
    """Have nothing come of what is still written to standard output."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
