"""Standard streams, even closed ones, and errors of writing to them."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from lade_chat.cli.flags.usage_errors import usage
from lade_chat.errors import LadeChatError

_UNWRITABLE = {errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF, errno.EPIPE}
if hasattr(errno, "EDQUOT"):
    _UNWRITABLE.add(errno.EDQUOT)


class ClosedOutput(io.TextIOBase):
    """Stands in for a closed standard output, so that a result is not lost in silence."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        """Raises LadeChatError."""
        raise LadeChatError("standard output is closed: there is nowhere to write to (use > /dev/null to discard it).")


class Remarks:
    """Standard error that drops what cannot be written: a full disk behind it must not cost an answer."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written. Raises BrokenPipeError if nobody reads it any more."""
        with _unless_unwritable():
            self._stream.write(text)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        self.write("".join(lines))

    def flush(self) -> None:
        with _unless_unwritable():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _unless_unwritable() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        pass


def claim_streams() -> None:
    """Open all three descriptors, so that no file takes the number of a closed one. A closed stderr discards."""
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
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = cast("TextIO", Remarks(sys.stderr))


def require_output() -> None:
    """Raise LadeChatError if standard output is closed; called before any work whose result goes there."""
    if isinstance(sys.stdout, ClosedOutput):
        sys.stdout.write("")


def is_output_error(error: OSError) -> bool:
    """Tell a stream that cannot be written from a file, whose errors name it."""
    return error.filename is None and error.errno in _UNWRITABLE


def discard_output() -> None:
    """Discard everything that is still written to standard output."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def require_terminal(name: str, otherwise: str = "") -> None:
    """Raise a usage error unless the screen can run: Textual reads stdin, measures stdout and draws on stderr."""
    streams = {"input": sys.stdin, "output": sys.stdout, "error": sys.stderr}
    # A closed stream is None.
    missing = [each for each, stream in streams.items() if stream is None or not stream.isatty()]
    if not missing and os.environ.get("TERM") == "dumb":
        raise usage(f"{name} needs a terminal with a cursor (TERM is dumb); without one use: lade-chat ask PROMPT")
    if missing == ["error"]:
        raise usage(f"{name} draws on standard error, which is redirected: leave it on the terminal")
    if missing:
        raise usage(f"{name} needs a terminal{otherwise}")
