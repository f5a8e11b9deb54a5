"""Models at hand: recently used ones, those in folders, those in the hub's cache, and those of other programs."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from filecmp import cmp
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from lade_chat.errors import ModelError
from lade_chat.gguf.files import SUFFIX, NoLanguageModelError, labels, models_among, models_in
from lade_chat.gguf.models_of_programs import OLLAMA_PREFIX, llama_cpp_folders, lm_studio_folders, ollama_models
from lade_chat.known_models.asked_model import is_missing
from lade_chat.known_models.checkpoint_summary import gguf_about, holds_model, size_and_format, why_unfinished
from lade_chat.paths import atomic_write, bundled_model_path, expanded, place
from lade_chat.presentation.status_parts import cut
from lade_chat.protocol.values import ModelOptions

if TYPE_CHECKING:
    from huggingface_hub import CachedRepoInfo


@dataclass(frozen=True)
class KnownModel:
    """A model by its ``--model-path``, with a short description."""

    path: str
    about: str = ""
    device: str | None = None
    dtype: str | None = None
    is_model: bool = True
    """False for a folder that only leads to others."""
    is_usable: bool = True
    """False for a file that is broken, as ``about`` says."""


def merged(one: KnownModel | None, other: KnownModel) -> KnownModel:
    """Return a model that was found in two places, with what is known of it from both."""
    if one is None:
        return other
    longer, shorter = sorted((one.about, other.about), key=len, reverse=True)
    parts = dict.fromkeys((*one.about.split(", "), *other.about.split(", ")))  # each told once
    about = longer if shorter in longer else ", ".join(parts)
    device, dtype = one.device or other.device, one.dtype or other.dtype
    return replace(one, about=about, device=device, dtype=dtype, is_usable=one.is_usable and other.is_usable)


MAX_RECENT = 8
_FILE = "recent-models.json"
MAX_FOLDERS = 200
"""Folders searched for models."""
MAX_ENTRIES = 5000
"""Entries of a folder that are read."""
MAX_COMPLETIONS = 100
MAX_REASON = 200
"""Cells of the reason why a file cannot be used."""


def recent(folder: Path) -> tuple[KnownModel, ...]:
    """Return the recently loaded models, newest first; empty if the list cannot be read."""
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        rows = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        found = (KnownModel(str(row["path"]), "recent", row["device"], row["dtype"]) for row in rows)
        return tuple(_checked(merged(_described(each.path), each)) for each in found)
    return ()


def _checked(model: KnownModel) -> KnownModel:
    """Return the model, marked if its path leads nowhere any more."""
    is_gone = is_missing(model.path)
    return replace(model, about=f"{model.about}, no longer there", is_usable=False) if is_gone else model


def _described(path: str) -> KnownModel | None:
    """Return the model of a folder or file; None for another path."""
    return next(_model(path, Path(path)), None) if os.path.exists(path) else None


def _model(path: str, file: Path, *more: str) -> Iterator[KnownModel]:
    """Yield a checkpoint's folder or a GGUF file, or why it cannot be used; nothing if it is not a model."""
    try:
        about = gguf_about(file) if file.is_file() else size_and_format(file)
        yield KnownModel(path, ", ".join((about, *more)))
    except NoLanguageModelError:
        return
    except ModelError as error:
        reason = str(error).removeprefix(f"{file} ").replace("is not a readable GGUF file", "damaged", 1)
        yield _unusable(path, reason, *more)


def _unusable(path: str, reason: str, *more: str) -> KnownModel:
    return KnownModel(path, ", ".join((cut(reason.removesuffix("."), MAX_REASON), *more)), is_usable=False)


def remember(folder: Path, options: ModelOptions) -> None:
    """Put a model at the top of the recent ones; the bundled one is never on it. A failure to write is ignored."""
    if (path := options.path) is None:
        return
    if os.path.exists(path):
        path = os.path.abspath(path)
    others = [each for each in recent(folder) if each.path != path]
    kept = [KnownModel(path, "recent", options.device, options.precision), *others][:MAX_RECENT]
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
            if is_model := holds_model(each):
                found += _model(_shown(each), each)
            elif reason := why_unfinished(each):
                found.append(_unusable(_shown(each), reason))
            found += gguf_files(each)
            below += [] if is_model else _folders(each)
        level = below
    return tuple(found)


def gguf_files(folder: Path) -> Iterator[KnownModel]:
    """Yield the GGUF files of a folder, those that cannot be used with the reason."""
    for model in models_in(folder):
        file = folder / model.first
        yield from _model(_shown(file), file)


def at_hand(data_folder: Path) -> tuple[KnownModel, ...]:
    """Return the models in the working folder, the downloaded ones, other programs' and the recent ones, each once."""
    found: dict[str, KnownModel] = {}
    for each in (*in_folder(Path()), *in_hub_cache(), *of_other_programs(), *recent(data_folder)):
        found[place(each.path)] = merged(found.get(place(each.path)), each)
    return tuple(found.values())


def short_names(aliases: Mapping[str, str]) -> dict[str, KnownModel]:
    """Return the models that have short names, by their places, each with all of its names."""
    known: dict[str, KnownModel] = {}
    for name, path in aliases.items():
        named = KnownModel(path, f"-m {shlex.quote(name)}")
        before = known.get(place(path))
        known[place(path)] = named if before is None else replace(before, about=f"{before.about}, {named.about}")
    return {where: _checked(each) for where, each in known.items()}


def is_bundled(model: KnownModel) -> bool:
    """Tell whether a model is the bundled one, or a copy of it: a clone of the repository has one."""
    with suppress(OSError, ModelError):
        return cmp(f"{model.path}/model.safetensors", bundled_model_path() / "model.safetensors")
    return False


def completions(typed: str) -> tuple[KnownModel, ...]:
    """Return the first folders and GGUF files that complete a typed path; empty if it is not one. Slow like a disk."""
    if not typed.startswith((".", "/", "~", os.sep)) and not os.path.isabs(typed):
        return ()
    typed_head, tail = os.path.split(typed)
    found, folder = [], expanded(typed_head or ".")
    for each in islice(_folders(folder, tail), MAX_COMPLETIONS):
        model = holds_model(each)
        path = os.path.join(typed_head, each.name)
        found.append(KnownModel(path, "folder" if model else "", is_model=model))
    names = [model.first for model in models_in(folder) if model.first.lower().startswith(tail.lower())]
    for path in (os.path.join(typed_head, name) for name in names[:MAX_COMPLETIONS]):
        found += _model(path, expanded(path))
    return tuple(found[:MAX_COMPLETIONS])


def in_hub_cache() -> tuple[KnownModel, ...]:
    """Return the models that are downloaded entirely; slow."""
    from huggingface_hub import constants, scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except (CacheNotFound, OSError, ValueError):
        return ()
    ordered = sorted(repos, key=lambda repo: repo.repo_id.lower())
    return tuple(model for repo in ordered if repo.repo_type == "model" for model in _downloaded(repo))


def _downloaded(repo: CachedRepoInfo) -> Iterator[KnownModel]:
    """Yield the whole checkpoint of a repository in the hub's cache, and its GGUF files."""
    snapshots = [each.snapshot_path for each in repo.revisions]
    if whole := [each for each in snapshots if holds_model(each)]:
        yield from _model(repo.repo_id, whole[0], "downloaded")
    for folder in snapshots:
        files = (file.relative_to(folder).as_posix() for file in folder.rglob(f"*{SUFFIX}"))
        for label, model in labels(models_among(files)).items():
            if not model.missing:
                yield from _model(f"{repo.repo_id}:{label}", folder / model.first, "downloaded")


def of_other_programs() -> Iterator[KnownModel]:
    """Yield the models of Ollama, LM Studio and llama.cpp."""
    for name, file in ollama_models():
        path = f"{OLLAMA_PREFIX}{name}"
        if isinstance(file, Path):
            yield from _model(path, file, "Ollama")
        else:
            yield _unusable(path, str(file), "Ollama")
    for program, folders in (("LM Studio", lm_studio_folders()), ("llama.cpp", llama_cpp_folders())):
        for folder in folders:
            for model in in_folder(folder):
                yield replace(model, about=f"{model.about}, {program}")


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
    except (OSError, ValueError):  # no such folder, or not a possible path
        return []
    return [folder / name for name in sorted(names, key=str.lower)]


def _shown(path: Path) -> str:
    """Write a path below the working folder with ``./``, so that it is never taken for a hub id."""
    whole = path.absolute()
    with suppress(OSError, ValueError):
        below = whole.relative_to(Path.cwd())
        return os.path.join(".", str(below)) if str(below) != "." else "."
    return str(whole)
