"""Models at hand: recently used ones, those in folders, and those in the hub's cache."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path

from rich.filesize import decimal

from lade_chat.atomic_write import atomic_write
from lade_chat.paths import expanded
from lade_chat.settings.settings import nearest

MAX_RECENT = 8
_WEIGHTS = (".safetensors", ".bin", ".pt")
_FILE = "recent-models.json"
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
MAX_HEADER_BYTES = 100_000_000
"""Of a safetensors file, as its format has it; what claims more is none."""
MAX_FOLDERS = 200
"""Folders searched for models."""
MAX_ENTRIES = 5000
"""Entries of a folder that are read."""
MAX_COMPLETIONS = 100


@dataclass(frozen=True)
class KnownModel:
    """A model by its ``--model-path``, with a short description."""

    path: str
    about: str = ""
    device: str | None = None
    dtype: str | None = None
    is_model: bool = True
    """False for a folder that only leads to others."""


def recent(folder: Path) -> tuple[KnownModel, ...]:
    """Return the recently loaded models, newest first; empty if the list cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        found = (KnownModel(str(row["path"]), "recent", row["device"], row["dtype"]) for row in rows)
        return tuple(
            replace(each, about=f"{_size_and_format(Path(each.path))}, recent") if os.path.isdir(each.path) else each
            for each in found
        )
    return ()


def remember(folder: Path, path: str, device: str | None, dtype: str | None) -> None:
    """Put a model at the top of the recent ones; a failure to write is ignored."""
    if os.path.isdir(path):
        path = os.path.abspath(path)
    others = [each for each in recent(folder) if each.path != path]
    kept = [KnownModel(path, "recent", device, dtype), *others][:MAX_RECENT]
    rows = [{name: asdict(each)[name] for name in ("path", "device", "dtype")} for each in kept]
    with suppress(OSError):
        atomic_write(folder / _FILE, json.dumps(rows).encode())


def in_folder(folder: Path) -> tuple[KnownModel, ...]:
    """Return the models in this folder and up to two levels below."""
    found: list[KnownModel] = []
    seen = 0
    level = [folder]
    for _depth in range(3):
        below: list[Path] = []
        for each in level:
            seen += 1
            if seen > MAX_FOLDERS:
                return tuple(found)
            if holds_model(each):
                found.append(KnownModel(_shown(each), _size_and_format(each)))
            else:
                below += _folders(each)
        level = below
    return tuple(found)


def at_hand(data_folder: Path) -> tuple[KnownModel, ...]:
    """Return the models in the working folder, the downloaded ones and the recent ones, each once."""
    found: dict[str, KnownModel] = {}
    for each in (*in_folder(Path()), *in_hub_cache(), *recent(data_folder)):
        found[place(each.path)] = merged(found.get(place(each.path)), each)
    return tuple(found.values())


def place(path: str) -> str:
    """Return what tells models apart: a folder is one however its path is written."""
    folder = expanded(path)
    return os.path.realpath(folder) if os.path.isdir(folder) else path


def merged(one: KnownModel | None, other: KnownModel) -> KnownModel:
    """Return a model that was found in two places, with what either tells of it."""
    if one is None:
        return other
    longer, shorter = sorted((one.about, other.about), key=len, reverse=True)
    size = one.about.partition(", ")[0]  # told once
    more = other.about[len(size) :] if other.about.startswith(size) else f", {other.about}"
    about = longer if shorter in longer else f"{one.about}{more}"
    return replace(one, about=about, device=one.device or other.device, dtype=one.dtype or other.dtype)


def short_names(aliases: Mapping[str, str]) -> dict[str, KnownModel]:
    """Return the models that have short names, by their places, each with all of its names."""
    known: dict[str, KnownModel] = {}
    for name, path in aliases.items():
        named = KnownModel(path, f"-m {shlex.quote(name)}")
        before = known.get(place(path))
        known[place(path)] = named if before is None else replace(before, about=f"{before.about}, {named.about}")
    return known


def misspelt_alias(path: str, aliases: Collection[str]) -> str | None:
    """Return the short name that was perhaps meant by ``path``, which is neither one, nor a folder, nor a hub id."""
    if not path or "/" in path or path in aliases or os.path.exists(expanded(path)):
        return None
    return nearest(path, aliases)


def is_missing(path: str) -> bool:
    """Return True for what can only be a folder's path, where there is none."""
    return path.startswith((".", "/", "~")) and not os.path.isdir(expanded(path))


def completions(typed: str) -> tuple[KnownModel, ...]:
    """Return the first folders that complete a typed path; empty if it is not a path. Slow where a disk is."""
    if not typed.startswith((".", "/", "~", os.sep)) and not os.path.isabs(typed):
        return ()
    typed_head, tail = os.path.split(typed)
    found = []
    for each in islice(_folders(expanded(typed_head or "."), tail), MAX_COMPLETIONS):
        model = holds_model(each)
        path = os.path.join(typed_head, each.name)
        found.append(KnownModel(path, "folder" if model else "", is_model=model))
    return tuple(found)


def in_hub_cache() -> tuple[KnownModel, ...]:
    """Return the models that are downloaded entirely; slow."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir().repos
    except (CacheNotFound, OSError, ValueError):
        return ()
    found = []
    for repo in sorted(repos, key=lambda repo: repo.repo_id.lower()):
        whole = [each.snapshot_path for each in repo.revisions if holds_model(each.snapshot_path)]
        if repo.repo_type == "model" and whole:
            found.append(KnownModel(repo.repo_id, f"{_size_and_format(whole[0])}, downloaded"))
    return tuple(found)


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
    index = next((name for name in _INDICES if name in names), None)
    if index is None:
        return False
    return names >= set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())


def _size_and_format(folder: Path) -> str:
    """Describe a model's weights: ``1.2 GB safetensors bfloat16``."""
    with suppress(OSError, ValueError):
        weights = [each for each in folder.iterdir() if each.name.endswith(_WEIGHTS)]
        kinds = dict.fromkeys(each.suffix[1:] for each in sorted(weights, reverse=True))
        dtype = next((found for each in weights if (found := _stored_dtype(each))), "")
        return described(sum(each.stat().st_size for each in weights), ", ".join(kinds), dtype)
    return "folder"


def _stored_dtype(weights: Path) -> str:
    """Return the type of most numbers in a safetensors file, from its header; empty if that is none."""
    broken = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
    with suppress(*broken), weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length)) if length < MAX_HEADER_BYTES else {}
        numbers = Counter[str]()
        for name, tensor in header.items():
            if name != "__metadata__":
                numbers[tensor["dtype"]] += math.prod(tensor["shape"])
        (most, _), *_ = numbers.most_common()
        return DTYPES.get(most, (most.lower(), 1))[0]
    return ""


def described(size: int, form: str, dtype: str = "") -> str:
    """Describe weights by their bytes, format and type."""
    return " ".join(filter(None, (decimal(size), form, dtype)))


def _folders(folder: Path, beginning: str = "") -> list[Path]:
    """Return the folders in a folder whose names begin so, hidden ones only if asked for by their dot."""
    begin = beginning.lower()
    try:
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in islice(entries, MAX_ENTRIES)
                if entry.name.lower().startswith(begin)
                and (begin.startswith(".") or not entry.name.startswith("."))
                and entry.is_dir()
            ]
    except (OSError, ValueError):  # no such folder, or none that there can be
        return []
    return [folder / name for name in sorted(names, key=str.lower)]


def _shown(folder: Path) -> str:
    """Write a path below the working folder with ``./``, so that it is never taken for a hub id."""
    try:
        below = folder.absolute().relative_to(Path.cwd())
    except (OSError, ValueError):
        return str(folder.absolute())
    return os.path.join(".", str(below)) if str(below) != "." else "."
