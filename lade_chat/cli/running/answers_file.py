"""The file of a batch's answers: a JSON line each, in the order of the prompts; what it holds is gone on with."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from lade_chat.atomic_write import atomic_write
from lade_chat.errors import LadeChatError
from lade_chat.paths import is_there, unwritable


class AnswersFile:
    """A context manager, within which answers can be written; each is on disk when ``write`` returns."""

    def __init__(self, path: Path, prompts: Sequence[Mapping[str, Any]]) -> None:
        """``prompts``: what each answer repeats of its prompt, its line's number among it.

        A line that a kill left incomplete is cut off. Raises LadeChatError if the file answers anything else.
        """
        self._path = path
        self._file: TextIO | None = None
        self._lines: list[bytes] = []
        self._models: set[str] = set()
        self._failed: list[int] = []
        try:
            if is_there(path) and (path.is_file() or path.is_dir()):  # a pipe or a device holds nothing
                self._read(prompts)
        except OSError as error:
            raise LadeChatError(f"{path} cannot be read: {error.strerror or error}.") from None
        self.missing = (*self._failed, *range(len(self._lines), len(prompts)))
        """The places of prompts without an answer: those that failed before, and those not asked yet."""

    def _read(self, prompts: Sequence[Mapping[str, Any]]) -> None:
        whole = self._path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        self._lines = kept.splitlines(keepends=True)
        for place, (line, prompt) in enumerate(zip(self._lines, prompts, strict=False)):
            record = _record(line)
            if not prompt.items() <= record.items():
                raise LadeChatError(
                    f"{self._path}, line {place + 1}: this does not answer line {prompt['line']} of the prompts:"
                    " choose another --output, or delete this file."
                )
            if "error" in record:
                self._failed.append(place)
            elif isinstance(record.get("model"), str):
                self._models.add(record["model"])
        if len(self._lines) > len(prompts):
            raise LadeChatError(f"{self._path} holds more answers than there are prompts: choose another --output.")
        if len(kept) < len(whole):
            os.truncate(self._path, len(kept))

    def check_model(self, name: str) -> None:
        """Raise LadeChatError if another model has answered."""
        if others := sorted(self._models - {name}):
            raise LadeChatError(f"{self._path} was made by {others[0]}: choose another --output.")

    def __enter__(self) -> AnswersFile:
        self._open()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # it was told where it was written
                self._file.close()

    def write(self, place: int, line: str) -> None:
        """Write the answer to a prompt: in place of its error, or at the end. Raises LadeChatError."""
        try:
            if place < len(self._lines):
                self._replace(place, line)
            else:
                self._append(line)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise LadeChatError(unwritable(self._path, error)) from None

    def _open(self) -> TextIO:
        try:
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise LadeChatError(unwritable(self._path, error)) from None
        return self._file

    def _append(self, line: str) -> None:
        file = self._file or self._open()
        file.write(line)
        file.flush()
        with suppress(OSError):  # a pipe has no disk
            os.fsync(file.fileno())

    def _replace(self, place: int, line: str) -> None:
        self._lines[place] = line.encode()
        if self._file is not None:
            self._file.close()
            self._file = None  # what it was opened for is another file from here on
        atomic_write(self._path, b"".join(self._lines), private=False, sync=True)


def _record(line: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    return {}
