"""A model that can be opened, and what makes two of them one."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from lade_chat.paths import expanded


@dataclass(frozen=True)
class KnownModel:
    """A model by its ``--model-path``, with a short description."""

    path: str
    about: str = ""
    device: str | None = None
    dtype: str | None = None
    is_model: bool = True
    """False for a folder that only leads to others."""


def place(path: str) -> str:
    """Return what tells models apart: a folder or a file is one however its path is written."""
    found = expanded(path)
    return os.path.realpath(found) if os.path.exists(found) else path


def merged(one: KnownModel | None, other: KnownModel) -> KnownModel:
    """Return a model that was found in two places, with what either tells of it."""
    if one is None:
        return other
    longer, shorter = sorted((one.about, other.about), key=len, reverse=True)
    parts = dict.fromkeys((*one.about.split(", "), *other.about.split(", ")))  # each told once
    about = longer if shorter in longer else ", ".join(parts)
    return replace(one, about=about, device=one.device or other.device, dtype=one.dtype or other.dtype)
