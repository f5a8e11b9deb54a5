"""The GGUF files of a folder, and whether a file is one."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from lade_chat.errors import ModelError
from lade_chat.gguf.names import SUFFIX, NamedModel, models_among

MAX_ENTRIES = 5000
"""Entries of a folder that are read."""
MAX_LISTED = 8
_MAGIC = b"GGUF"


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

    Args:
        folder: where.
        shown: its path as the user wrote it.
    """
    found = models_in(folder)
    if len(found) > 1:
        names = ", ".join(each.first for each in found[:MAX_LISTED])
        more = " …" if len(found) > MAX_LISTED else ""
        example = os.path.join(shown, found[0].first)
        raise ModelError(f"{shown} holds {len(found)} GGUF models ({names}{more}): choose one, as {example}.")
    return folder / found[0].first if found else None
