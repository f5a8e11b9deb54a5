"""GGUF files by their names (which belong to one model, its quantisation, the models of a folder) and their headers."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lade_chat.errors import ModelError, summary

if TYPE_CHECKING:
    from decoding.gguf.file import GgufFile

SUFFIX = ".gguf"
_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})", re.IGNORECASE)
_QUANTISATION = re.compile(
    r"(?:^|[-._ ])(?P<name>(?:UD-)?(?:I?Q\d(?:_[A-Z\d]+)*|TQ\d_\d|MXFP4(?:_MOE)?|BF16|F16|F32|FP16|FP32))$",
    re.IGNORECASE,
)
_PROJECTOR = re.compile(r"(^|[-._])mmproj([-._]|$)", re.IGNORECASE)
"""The part of a model that sees pictures, not a model by itself."""
MAX_ENTRIES = 5000
"""Entries of a folder that are read."""
MAX_LISTED = 8
_MAGIC = b"GGUF"


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model by the names of its files, which are paths below a folder or a repository."""

    files: tuple[str, ...]
    """The file, or the parts that it is split into, in order."""
    title: str
    """The file's name without its quantisation."""
    quantisation: str
    """As the file's name has it; empty if it has none."""
    missing: int = 0
    """The number of parts that are not there."""

    @property
    def first(self) -> str:
        """The path of the file to open."""
        return self.files[0]

    @property
    def file_name(self) -> str:
        """The name of that file."""
        return PurePath(self.first).name


def models_among(names: Iterable[str]) -> tuple[NamedModel, ...]:
    """Return the models among these files, by name: the parts of one belong together; projectors are left out."""
    parts: dict[tuple[str, int], dict[int, str]] = {}
    for name in sorted(names):
        stem = PurePath(name).name
        if not stem.lower().endswith(SUFFIX) or _PROJECTOR.search(stem):
            continue
        whole = name[: -len(SUFFIX)]
        part = _PART.fullmatch(whole)
        key, number = ((part["stem"], int(part["count"])), int(part["number"])) if part else ((whole, 1), 1)
        parts.setdefault(key, {})[number] = name
    return tuple(_model(stem, count, files) for (stem, count), files in parts.items())


def _model(stem: str, count: int, files: dict[int, str]) -> NamedModel:
    title, quantisation = title_and_quantisation(PurePath(stem).name)
    return NamedModel(tuple(files[number] for number in sorted(files)), title, quantisation, max(count - len(files), 0))


def title_and_quantisation(stem: str) -> tuple[str, str]:
    """Split a file's name, without its suffix, into the model's and the quantisation's, which may be empty."""
    stem = part["stem"] if (part := _PART.fullmatch(stem)) else stem
    found = _QUANTISATION.search(stem)
    if found is None or not found.start():
        return stem, found["name"].upper() if found else ""
    return stem[: found.start()], found["name"].upper()


def quantisation_of(file: GgufFile) -> str:
    """Return a file's quantisation; as its name has it where that only adds to it, as Q4_K_M to Q4_K."""
    named = title_and_quantisation(file.path.stem)[1]
    return named if named.startswith(f"{file.quantization}_") else file.quantization


def chosen(models: Iterable[NamedModel], wanted: str) -> tuple[NamedModel, ...]:
    """Return the models of this quantisation, or of a file of this name."""
    tag = wanted.casefold()
    return tuple(each for each in models if tag in (each.quantisation.casefold(), each.file_name.casefold()))


def labels(models: Iterable[NamedModel]) -> dict[str, NamedModel]:
    """Return the models by the shortest word that tells each from the others: its quantisation, or its file."""
    found = list(models)
    quantisations = [each.quantisation for each in found]
    return {
        each.quantisation if each.quantisation and quantisations.count(each.quantisation) == 1 else each.file_name: each
        for each in found
    }


def is_gguf(file: Path) -> bool:
    """Tell whether a file calls itself a GGUF file, or begins as one: Ollama's have no names."""
    if file.name.lower().endswith(SUFFIX):
        return True
    try:
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def models_in(folder: Path) -> tuple[NamedModel, ...]:
    """Return the models of a folder by their files' names; empty if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in islice(entries, MAX_ENTRIES) if entry.name.lower().endswith(SUFFIX)]
    except (OSError, ValueError):
        return ()
    return models_among(name for name in found if (folder / name).is_file())


def only_model_in(folder: Path, shown: str) -> Path | None:
    """Return the file of a folder's only model, or None if it has none. Raises ModelError if it has several.

    ``shown``: the folder's path as the user wrote it.
    """
    found = models_in(folder)
    if len(found) > 1:
        names = ", ".join(each.first for each in found[:MAX_LISTED])
        more = " …" if len(found) > MAX_LISTED else ""
        example = os.path.join(shown, found[0].first)
        raise ModelError(f"{shown} holds {len(found)} GGUF models ({names}{more}): choose one, as {example}.")
    return folder / found[0].first if found else None


class NoLanguageModelError(ModelError):
    """A valid GGUF file that is not a model which writes text, such as an adapter."""


def read_header(file: Path) -> GgufFile:
    """Read a file's header, in milliseconds and without torch. Raises ModelError if it is no language model."""
    from decoding.gguf.file import GgufFile, refusal
    from decoding.gguf.metadata import GgufError

    try:
        found = GgufFile.open(file, header_only=True)
        reason = refusal(found)
        if reason is not None:
            raise NoLanguageModelError(f"{file} cannot be run: {reason}.")
        return found
    except GgufError as error:
        told = str(error)
        raise ModelError(told if str(file) in told else f"{file} cannot be used: {told}.") from error
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror or summary(error)}.") from error
