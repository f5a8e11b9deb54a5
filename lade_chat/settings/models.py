"""Models at hand: recently used ones, those in folders, and those in the hub's cache."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.filesize import decimal

from lade_chat.atomic_write import atomic_write

MAX_RECENT = 8
_WEIGHTS = (".safetensors", ".bin", ".pt")
_FILE = "recent-models.json"
MAX_FOLDERS = 200
"""Folders searched; completion of a typed path has no such limit."""


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
    with suppress(OSError, ValueError, TypeError, KeyError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return tuple(KnownModel(str(row["path"]), "recent", row["device"], row["dtype"]) for row in rows)
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
    found = {each.path: each for each in reversed((*in_folder(Path.cwd()), *in_hub_cache(), *recent(data_folder)))}
    return tuple(reversed(found.values()))


def completions(typed: str) -> tuple[KnownModel, ...]:
    """Return the folders that complete a typed path; empty if it is not a path."""
    if not typed.startswith((".", "/", "~", os.sep)) and not os.path.isabs(typed):
        return ()
    typed_head, tail = os.path.split(typed)
    found = []
    for each in _folders(Path(typed_head or ".").expanduser(), hidden=tail.startswith(".")):
        if each.name.lower().startswith(tail.lower()):
            model = holds_model(each)
            path = os.path.join(typed_head, each.name)
            found.append(KnownModel(path, "folder" if model else "", is_model=model))
    return tuple(found)


def in_hub_cache() -> tuple[KnownModel, ...]:
    """Return the downloaded models that have a configuration and weights; slow."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir().repos
    except (CacheNotFound, OSError, ValueError):
        return ()
    found = []
    for repo in sorted(repos, key=lambda repo: repo.repo_id.lower()):
        names = {file.file_name for revision in repo.revisions for file in revision.files}
        if repo.repo_type == "model" and "config.json" in names and _have_weights(names):
            found.append(KnownModel(repo.repo_id, f"downloaded, {repo.size_on_disk_str}"))
    return tuple(found)


def holds_model(folder: Path) -> bool:
    """Tell whether the folder has a configuration and weights."""
    try:
        return (folder / "config.json").is_file() and _have_weights(each.name for each in folder.iterdir())
    except OSError:
        return False


def _have_weights(names: Iterable[str]) -> bool:
    return any(name.endswith(_WEIGHTS) for name in names)


def _size_and_format(folder: Path) -> str:
    """Describe a model's weights: ``1.2 GB safetensors``."""
    with suppress(OSError):
        weights = [each for each in folder.iterdir() if each.name.endswith(_WEIGHTS)]
        kinds = dict.fromkeys(each.suffix[1:] for each in sorted(weights, reverse=True))
        return f"{decimal(sum(each.stat().st_size for each in weights))} {', '.join(kinds)}"
    return "folder"


def _folders(folder: Path, *, hidden: bool = False) -> list[Path]:
    try:
        return sorted(
            (each for each in folder.iterdir() if each.is_dir() and (hidden or not each.name.startswith("."))),
            key=lambda each: each.name.lower(),
        )
    except OSError:
        return []


def _shown(folder: Path) -> str:
    """Write a path below the working folder with ``./``, so that it is never taken for a hub id."""
    try:
        below = folder.absolute().relative_to(Path.cwd())
    except (OSError, ValueError):
        return str(folder.absolute())
    return os.path.join(".", str(below)) if str(below) != "." else "."
