"""Models that are at hand: those used before, those in folders, and those in the hub's cache."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

MOST_RECENT = 8
_FILE = "recent-models.json"
_MOST_FOLDERS = 200
"""Folders looked into; whoever types a path sees all of them anyway."""


@dataclass(frozen=True)
class KnownModel:
    """``path`` is what ``--model-path`` takes; ``about`` a word or two beside it."""

    path: str
    about: str = ""
    device: str | None = None
    dtype: str | None = None
    is_model: bool = True
    """False for a folder that only leads to others."""


def recent(folder: Path) -> tuple[KnownModel, ...]:
    """The models loaded last, newest first; empty if that cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        return tuple(KnownModel(str(row["path"]), "recent", row["device"], row["dtype"]) for row in rows)
    return ()


def remember(folder: Path, path: str, device: str | None, dtype: str | None) -> None:
    """Put a model at the top of the recent ones, as far as that can be written."""
    if os.path.isdir(path):
        path = os.path.abspath(path)
    others = [each for each in recent(folder) if each.path != path]
    kept = [KnownModel(path, "recent", device, dtype), *others][:MOST_RECENT]
    rows = [{name: asdict(each)[name] for name in ("path", "device", "dtype")} for each in kept]
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=folder, prefix=f".{_FILE}-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(rows, file)
        os.replace(written, folder / _FILE)


def in_folder(folder: Path) -> tuple[KnownModel, ...]:
    """Models in this folder, in its folders, and in theirs."""
    found: list[KnownModel] = []
    seen = 0
    level = [folder]
    for _depth in range(3):
        below: list[Path] = []
        for each in level:
            seen += 1
            if seen > _MOST_FOLDERS:
                return tuple(found)
            if holds_model(each):
                found.append(KnownModel(_shown(each), "folder"))
            else:
                below += _folders(each)
        level = below
    return tuple(found)


def completions(typed: str) -> tuple[KnownModel, ...]:
    """The folders that what was typed may go on to; empty where it is no path."""
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
    """Models that were downloaded whole enough to have a configuration and weights; takes a while."""
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
    """Whether there are a configuration and weights in it."""
    try:
        return (folder / "config.json").is_file() and _have_weights(each.name for each in folder.iterdir())
    except OSError:
        return False


def _have_weights(names: Iterable[str]) -> bool:
    return any(name.endswith((".safetensors", ".bin", ".pt")) for name in names)


def _folders(folder: Path, *, hidden: bool = False) -> list[Path]:
    try:
        return sorted(
            (each for each in folder.iterdir() if each.is_dir() and (hidden or not each.name.startswith("."))),
            key=lambda each: each.name.lower(),
        )
    except OSError:
        return []


def _shown(folder: Path) -> str:
    """A path below the working folder as such, so that it is never taken for a hub id."""
    try:
        below = folder.absolute().relative_to(Path.cwd())
    except (OSError, ValueError):
        return str(folder.absolute())
    return os.path.join(".", str(below)) if str(below) != "." else "."
