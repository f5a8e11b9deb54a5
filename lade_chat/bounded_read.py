"""Reading of files that may have no end: a device or a pipe is read as far as it can be of use."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from rich.filesize import decimal

from lade_chat.errors import LadeChatError

MAX_STREAM_BYTES = 64 * 2**20
"""More than any prompt or file of prompts has; what goes on and on would fill the memory."""


def read_file(path: Path) -> bytes:
    """Return all of a file, or of a pipe that ends. Raises LadeChatError if it is too long, and OSError."""
    if path.is_file():  # which ends
        return path.read_bytes()
    with path.open("rb") as stream:
        return read_stream(stream, str(path))


def read_stream(stream: BinaryIO, name: str, advice: str = "give a file") -> bytes:
    """Return what a stream holds up to its end. Raises LadeChatError, with its ``name``, if it is too long."""
    data = stream.read(MAX_STREAM_BYTES + 1)
    if len(data) > MAX_STREAM_BYTES:
        raise LadeChatError(f"{name} is longer than {decimal(MAX_STREAM_BYTES)}, or has no end: {advice}.")
    return data
