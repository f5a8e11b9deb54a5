"""A model's weights according to its files: whether all are there, their size, format and type."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from rich.filesize import decimal

from lade_chat.errors import ModelError
from lade_chat.gguf.files import quantisation_of, read_header

_WEIGHTS = (".safetensors", ".bin", ".pt")
_INDICES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")
DTYPES: Mapping[str, tuple[str, int]] = {
    "F64": ("float64", 8),
    "F32": ("float32", 4),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "I64": ("int64", 8),
    "I32": ("int32", 4),
}
"""The names that safetensors has for types, with torch's name and the bytes of a number; others take one byte."""


def described(size: int, form: str, dtype: str = "") -> str:
    """Describe weights by their bytes, format and type."""
    return " ".join(filter(None, (decimal(size), form, dtype)))


def gguf_about(file: Path) -> str:
    """Describe a GGUF file, as ``98.4 MB GGUF Q4_1 llama``. Raises ModelError."""
    header = read_header(file)
    return described(header.size, "GGUF", f"{quantisation_of(header)} {header.architecture}")


def size_and_format(folder: Path) -> str:
    """Describe a checkpoint's weights: ``1.2 GB safetensors bfloat16``. Raises ModelError if a file is damaged."""
    try:
        json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise ModelError("damaged: config.json cannot be read.") from None
    with suppress(OSError, ValueError):
        weights = [each for each in sorted(folder.iterdir()) if each.name.endswith(_WEIGHTS)]
        kinds = dict.fromkeys(each.suffix[1:] for each in reversed(weights))
        dtypes = [_stored_dtype(each) for each in weights if each.suffix == ".safetensors"]
        return described(sum(each.stat().st_size for each in weights), ", ".join(kinds), *dtypes[:1])
    return "folder"


def holds_model(folder: Path) -> bool:
    """Tell whether the folder has a configuration and all of the weights: a download may have been cut off."""
    try:
        names = {each.name for each in folder.iterdir() if each.is_file()}
        return "config.json" in names and _have_all_weights(folder, names)
    except (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError):  # the index may hold anything
        return False


def _have_all_weights(folder: Path, names: set[str]) -> bool:
    """Tell whether there is a file with all weights, or every shard in the index. Raises OSError, ValueError."""
    weights = [name for name in names if name.endswith(_WEIGHTS)]
    if not any("-of-" in name for name in weights):
        return bool(weights)
    shards = _shards(folder, names)
    return bool(shards) and names >= shards


def _shards(folder: Path, names: set[str]) -> set[str]:
    """Return the files that a checkpoint's index names; empty without one. Raises OSError, ValueError."""
    index = next((name for name in _INDICES if name in names), None)
    return set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values()) if index else set()


def why_unfinished(folder: Path) -> str:
    """Say how many shards a checkpoint lacks; empty if it lacks none, or it is not a checkpoint with an index."""
    with suppress(OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        names = {each.name for each in folder.iterdir()}
        shards = _shards(folder, names) if "config.json" in names else set()
        if missing := shards - names:
            return f"unfinished: {len(missing)} of {len(shards)} shards missing."
    return ""


def _stored_dtype(weights: Path) -> str:
    """Return the type of most numbers in a safetensors file, from its header. Raises ModelError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    numbers = Counter[str]()
    try:
        with safe_open(weights, framework="np") as tensors:
            for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                tensor = tensors.get_slice(name)
                numbers[tensor.get_dtype()] += math.prod(tensor.get_shape())
    except (OSError, SafetensorError):
        raise ModelError(f"damaged: {weights.name} is truncated or corrupt.") from None
    most = max(numbers, key=numbers.__getitem__, default="")
    return DTYPES.get(most, (most.lower(), 1))[0]
