"""The file of a batch's answers: a JSON line each, in the order of the prompts; existing answers are kept."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import msgspec

from lade_chat.errors import LadeChatError
from lade_chat.paths import atomic_write, is_there, unwritable
from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.decoding_options import PLAIN_VALUES


class AnswersFile:
    """A context manager, within which answers can be written; each is on disk when ``write`` returns."""

    def __init__(self, path: Path, prompts: Sequence[Mapping[str, Any]]) -> None:
        """``prompts``: what each answer repeats of its prompt, including its line's number.

        A line that a kill left incomplete is cut off. Raises LadeChatError if the file holds anything else.
        """
        self._path = path
        self._file: TextIO | None = None
        self._lines: list[bytes] = []
        self._answers: dict[int, Mapping[str, Any]] = {}
        """The answers by their places, without those that failed."""
        self._failed: list[int] = []
        self._size = 0
        """Bytes read and written here; another size means that another program has changed the file."""
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
                raise self._foreign(place, prompt)
            if "error" in record:
                self._failed.append(place)
            else:
                self._answers[place] = record
        torn = whole[len(kept) :]
        if len(self._lines) + bool(torn) > len(prompts):
            raise LadeChatError(f"{self._path} holds more answers than there are prompts: choose another --output.")
        if torn:
            place = len(self._lines)
            begun = json.dumps(prompts[place]).encode()[:-1]
            if torn[: len(begun)] != begun[: len(torn)]:
                raise self._foreign(place, prompts[place])
            os.truncate(self._path, len(kept))
        self._size = len(kept)

    def _foreign(self, place: int, prompt: Mapping[str, Any]) -> LadeChatError:
        return LadeChatError(
            f"{self._path}, line {place + 1}: this does not answer line {prompt['line']} of the prompts:"
            " choose another --output."
        )

    def check_model(self, name: str) -> None:
        """Raise LadeChatError if another model has answered."""
        models = {model for record in self._answers.values() if isinstance(model := record.get("model"), str)}
        if others := sorted(models - {name}):
            raise LadeChatError(f"{self._path} was made by {others[0]}: choose another --output.")

    def kept(self, options: DecodingOptions, systems: Sequence[str | None]) -> Iterator[str]:
        """Yield lines that say how many answers are kept, and if they were made otherwise than asked for now.

        ``systems``: the system prompt of each prompt, as it would be asked now.
        """
        if self._answers:
            left = f"{len(self.missing)} to ask" if self.missing else "nothing is asked again"
            total = len(self._answers) + len(self.missing)
            yield f"{len(self._answers)} of {total} prompts were answered already in {self._path}: {left}"
        # Each once, in the order met.
        answers = self._answers.items()
        if names := dict.fromkeys(name for at, made in answers for name in _differing(made, options, systems[at])):
            yield (
                f"warning: answers in {self._path} were made with other settings ({', '.join(names)}) and are kept:"
                " choose another --output to ask anew"
            )

    def __enter__(self) -> AnswersFile:
        self._open()
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # it was told where it was written
                self._file.close()

    def write(self, place: int, line: str) -> None:
        """Write the answer to a prompt: in place of its error, or at the end.

        Raises LadeChatError, also if another program has changed the file, which is then left alone.
        """
        try:
            file = self._file or self._open()
            self._check_unchanged(file)
            if place < len(self._lines):
                self._replace(place, line)
                return
            file.write(line)
            file.flush()
            self._size += len(line.encode())
            with suppress(OSError):  # a pipe has no disk
                os.fsync(file.fileno())
        except BrokenPipeError:
            raise
        except OSError as error:
            raise LadeChatError(unwritable(self._path, error)) from None

    def _open(self) -> TextIO:
        try:
            self._file = self._path.open("a", encoding="utf-8", newline="")
        except OSError as error:
            raise LadeChatError(unwritable(self._path, error)) from None
        return self._file

    def _check_unchanged(self, file: TextIO) -> None:
        """Raise LadeChatError if the file is no longer what was read and written here, OSError if it is gone."""
        opened = os.fstat(file.fileno())
        if not stat.S_ISREG(opened.st_mode):
            return
        present = os.stat(self._path)
        if not os.path.samestat(opened, present) or present.st_size != self._size:
            raise LadeChatError(
                f"{self._path} was changed by another program meanwhile, and is left as it is: let one batch at a time"
                " write it, then run this one again."
            )

    def _replace(self, place: int, line: str) -> None:
        self._lines[place] = line.encode()
        if self._file is not None:
            self._file.close()
            self._file = None  # what it was opened for is another file from here on
        content = b"".join(self._lines)
        atomic_write(self._path, content, private=False, sync=True)
        self._size = len(content)


def _differing(record: Mapping[str, Any], options: DecodingOptions, system: str | None) -> Iterator[str]:
    """Yield the settings that an answer was made with differently, as far as it records them."""
    same_named = {name: getattr(options, name) for name in PLAIN_VALUES}
    for name, wanted in {**same_named, "stop": list(options.stop), "system": system}.items():
        if record.get(name, wanted) != wanted:
            yield name
    asked, made = options.sampling and options.sampling.normalized(), record.get("sampling")
    if asked is None:
        same = made is None
    elif not isinstance(made, dict):  # greedy, as a model's own values can be too
        same = asked.from_model
    else:
        made = {**made, "seed": record.get("seed"), "from_model": asked.from_model}
        asked = msgspec.structs.replace(asked, temperature=asked.effective_temperature)
        same = all(getattr(asked, name) in (None, made.get(name)) for name in asked.__struct_fields__)
    if not same:
        yield "sampling"


def _record(line: bytes) -> dict[str, Any]:
    with suppress(ValueError, RecursionError):
        record = json.loads(line)
        if isinstance(record, dict):
            return record
    return {}
