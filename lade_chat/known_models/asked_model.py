"""The model that a typed name asks for: what the name stands for, why nothing can be opened there, what fits a file."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from lade_chat.errors import ModelError
from lade_chat.gguf.files import models_in
from lade_chat.known_models.checkpoint_summary import gguf_about, holds_model
from lade_chat.paths import expanded
from lade_chat.precision_names import AUTO
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings.effective import nearest

BUNDLED_NAME = "bundled"
"""The bundled model's short name, unless the settings give it to another."""


def is_whole(typed: str, aliases: Collection[str]) -> bool:
    """Return True for a text that is taken as it stands: a short name, a path, a hub id, or an address."""
    return "/" in typed or ":" in typed or typed == BUNDLED_NAME or typed in aliases or os.path.exists(expanded(typed))


def named(typed: str, aliases: Mapping[str, str]) -> str | None:
    """Return the path or hub id that a name stands for: a short name's, or the name; None for the bundled model."""
    is_bundled_name = typed == BUNDLED_NAME and typed not in aliases and not os.path.exists(typed)
    return None if is_bundled_name else aliases.get(typed, typed)


def misspelt_alias(path: str, aliases: Collection[str]) -> str | None:
    """Return the short name that was perhaps meant by ``path``, which is neither one, nor a folder, nor a hub id."""
    if not path or is_whole(path, aliases):
        return None
    return nearest(path, aliases)


def is_missing(path: str) -> bool:
    """Return True if this can only be the path of a folder or a file, and there is none."""
    return path.startswith((".", "/", "~")) and not os.path.exists(expanded(path))


def why_unusable(path: str) -> str | None:
    """Return in one line why nothing can be opened there, as the path and a file's first bytes tell; None if it may."""
    if is_missing(path):
        return f"There is no folder or file {path}."
    file = expanded(path)
    if os.path.isfile(file):
        try:
            gguf_about(Path(file))
        except ModelError as error:
            return str(error)
    return None


def has_to_choose(path: str) -> bool:
    """Return True for a folder of several GGUF files and no checkpoint: its path does not name a single model."""
    folder = expanded(path)
    return bool(path) and os.path.isdir(folder) and not holds_model(folder) and len(models_in(folder)) > 1


def fitted(options: ModelOptions) -> tuple[ModelOptions, str]:
    """Return the options without what a GGUF file would be refused for, and a line about that; else as they are."""
    path, file, precision = options.path, expanded(options.path or ""), options.precision
    left_out = [precision] if precision and precision.strip().lower() != AUTO else []
    options = options.at(path)
    if path is not None and (os.path.isfile(file) or (not holds_model(file) and models_in(file))):
        left_out += ["--compile"] * options.compiled + ["--device-map"] * (options.device_map is not None)
        options = msgspec.structs.replace(options, dtype=None, quantize=None, compiled=False, device_map=None)
    if options.precision or not left_out:
        return options, ""
    return options, f"Left out: {', '.join(left_out)}. The weights of a GGUF file stay as they are."
