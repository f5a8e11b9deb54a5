"""Paths that users write: the folder of ~, whether a file can be written there, and files read up to a limit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from rich.filesize import decimal

from lade_chat.errors import LadeChatError

MAX_SHOWN = 80
"""Characters of a path in a line about what is wrong with it."""


def expanded(name: str | Path) -> Path:
    """Return the path with its ``~`` replaced as a shell does: ``~bob`` stays where there is no such user."""
    return Path(os.path.expanduser(name))


def is_there(path: Path) -> bool:
    """Tell whether something has this path already. Raises OSError if that cannot be told, or never will be so."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except ValueError as error:  # a NUL byte, or characters that no file's name can have
        raise OSError(str(error)) from None
    return True


def check_writable(path: Path) -> None:
    """Raise LadeChatError if no file can be written there: as far as can be told without writing it."""
    try:
        is_there(path)
    except OSError as error:
        raise LadeChatError(unwritable(path, error)) from None
    if os.path.isdir(path):
        raise LadeChatError(f"{path} cannot be written: it is a folder.")
    if not os.path.isdir(path.parent):
        raise LadeChatError(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise LadeChatError(f"{path} cannot be written: the folder does not let you.")


def unwritable(path: Path, error: OSError) -> str:
    """Say in a line that a file cannot be written, and why; a path without end is cut."""
    name = str(path)
    name = name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 1]}…"
    return f"{name} cannot be written: {error.strerror or error}."


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
