"""Paths that users write, the bundled model's, files read up to a limit, and files replaced in one step."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from rich.filesize import decimal

from lade_chat.errors import LadeChatError, ModelError

MAX_SHOWN = 80
"""Characters of a path in a line about what is wrong with it."""
SURROGATES = re.compile("[\ud800-\udfff]")
"""Stand alone for bytes that are not UTF-8; a text with one cannot be encoded."""


def expanded(name: str | Path) -> Path:
    """Return the path with its ``~`` replaced as a shell does: ``~bob`` stays where there is no such user."""
    return Path(os.path.expanduser(name))


def place(path: str) -> str:
    """Return a key by which models are told apart: one for a folder or file, however its path is written."""
    found = expanded(path)
    return os.path.realpath(found) if os.path.exists(found) else path


def bundled_model_path() -> Path:
    """Folder of the bundled model. Raises ModelError if it is missing."""
    package = Path(__file__).resolve().parent
    for folder in (package / "model", package.parent / "assets" / "model"):
        if (folder / "config.json").is_file():
            return folder
    raise ModelError("The bundled model is missing from this installation: reinstall it, or give a --model-path.")


def is_there(path: Path) -> bool:
    """Tell whether something has this path already. Raises OSError if that cannot be told, or no file can have it."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except ValueError as error:  # a NUL byte, or characters that no file's name can have
        raise OSError(str(error)) from None
    return True


def check_writable(path: Path) -> None:
    """Raise LadeChatError if no file can be written there, as far as can be told without trying."""
    try:
        is_there(path)
    except OSError as error:
        raise LadeChatError(unwritable(path, error)) from None
    if os.path.isdir(path):
        raise LadeChatError(f"{path} cannot be written: it is a folder.")
    if not os.path.isdir(path.parent):
        raise LadeChatError(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise LadeChatError(f"{path} cannot be written: you may not write in {path.parent}.")
    if os.path.exists(path) and not os.access(path, os.W_OK):  # it would be replaced all the same
        raise LadeChatError(f"{path} cannot be written: it is write-protected.")


def unwritable(path: Path, error: OSError) -> str:
    """Say in a line that a file cannot be written, and why; a path without end is cut."""
    name = str(path)
    name = name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 1]}…"
    why = error.strerror or error
    if isinstance(error, FileNotFoundError) and os.path.isdir(path.parent):
        why = f"{path.parent} takes no new files"
    return f"{name} cannot be written: {why}."


MAX_STREAM_BYTES = 64 * 2**20
"""More than any prompt or file of prompts has; an endless stream would fill the memory."""


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


def decode_text(data: bytes) -> str:
    """Return a UTF-8 text without its byte order mark. Raises UnicodeDecodeError, for a NUL byte, too."""
    if (place := data.find(0)) >= 0:
        raise UnicodeDecodeError("utf-8", data, place, place + 1, "NUL byte")
    return data.decode("utf-8-sig")


DRAFT_CHARACTERS = 50
"""Characters of a file's name in that of its draft: 200 bytes at most, of the 255 that file systems allow."""


def atomic_write(path: Path, data: bytes, *, private: bool = True, sync: bool = False) -> None:
    """Write ``data`` to ``path`` in one step. A link stays a link, and an existing file keeps its permissions.

    Its folder is made if it is missing. Raises OSError: the file is as it was.

    ``private``: a new file and a new folder are their owner's alone. ``sync``: flush the data to disk first, so that a
    power failure cannot leave an empty file.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    # Of a long name only the beginning, or the draft's would be too long.
    draft = target.with_name(f".{target.name[:DRAFT_CHARACTERS]}-{secrets.token_hex(6)}")
    file_mode = 0o600 if private else 0o666
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, file_mode)) as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(draft, target.stat().st_mode & 0o777)
        os.replace(draft, target)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
