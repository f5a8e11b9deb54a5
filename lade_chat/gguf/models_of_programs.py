"""GGUF files that other programs keep, read only: Ollama's models by their names, folders of LM Studio and llama.cpp.

A manifest of Ollama's names the file of a model, which lies among the blobs by its digest.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from lade_chat.errors import ModelError
from lade_chat.paths import expanded

OLLAMA_PREFIX = "ollama:"
MAX_MANIFESTS = 2000
_HOST, _NAMESPACE, _TAG = "registry.ollama.ai", "library", "latest"
_WORD = re.compile(r"[A-Za-z0-9_][\w.-]*")
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_LAYER = "application/vnd.ollama.image."
MAX_MANIFEST_BYTES = 1_000_000


def ollama_stores() -> tuple[Path, ...]:
    """Return the folders of Ollama's models, the most likely first: the user's, and those of its service on Linux."""
    if named := os.environ.get("OLLAMA_MODELS"):
        return (expanded(named),)
    system = ("/usr/share/ollama/.ollama/models", "/var/lib/ollama/models", "/var/lib/ollama")
    found = ("~/.ollama/models", *(system if sys.platform == "linux" else ()))
    return tuple(each for each in map(expanded, found) if _is_folder(each / "manifests"))


def find_in_ollama(name: str) -> Path:
    """Return the file of a model by its name in Ollama, as llama3.2:1b. Raises ModelError if there is none."""
    stores = ollama_stores()
    if not stores:
        raise ModelError("Ollama keeps no models here: set OLLAMA_MODELS to their folder.")
    below = _below(name)
    for store in stores:
        manifest = store / "manifests" / below
        if _is_there(manifest):
            return _file(store, manifest, name)
    found = dict(ollama_models())
    for each, file in found.items():
        if str(_below(each)).casefold() == str(below).casefold():  # names in Ollama are case-insensitive
            if isinstance(file, ModelError):
                raise file
            return file
    known = sorted(each for each, file in found.items() if isinstance(file, Path))
    listed = f"it has {', '.join(known[:5])}{' …' if len(known) > 5 else ''}" if known else "it has none"
    raise ModelError(f"Ollama has no model {name} here ({listed}): `ollama pull {name}` downloads it.")


def ollama_models() -> Iterator[tuple[str, Path | ModelError]]:
    """Yield the names of Ollama's models with the file of each, or with what is wrong with it."""
    seen = set[str]()
    for store in ollama_stores():
        for manifest in islice(sorted((store / "manifests").rglob("*")), MAX_MANIFESTS):
            parts = manifest.relative_to(store / "manifests").parts
            if len(parts) != 4 or manifest.name.startswith("."):
                continue
            name = _short(*parts)
            try:
                if name not in seen and _is_there(manifest):
                    seen.add(name)
                    yield name, _file(store, manifest, name)
            except ModelError as error:
                yield name, error


def _below(name: str) -> Path:
    """Return where a model's manifest lies below all manifests. Raises ModelError for an invalid name."""
    head, _, last = name.rpartition("/")
    model, colon, tag = last.partition(":")
    words = [*(head.split("/") if head else []), model]
    words = [*(_HOST, _NAMESPACE)[: max(3 - len(words), 0)], *words, tag if colon else _TAG]
    if len(words) != 4 or not all(map(_WORD.fullmatch, words[1:])) or words[0].startswith("."):
        raise ModelError(f"'{name}' is no name of a model in Ollama, which are as llama3.2:1b.")
    return Path(*words)


def _short(host: str, namespace: str, model: str, tag: str) -> str:
    """Return a model's name as Ollama lists it."""
    whole = (host, namespace, model)
    usual = 2 if whole[:2] == (_HOST, _NAMESPACE) else 1 if host == _HOST else 0
    return f"{'/'.join(whole[usual:])}:{tag}"


def _file(store: Path, manifest: Path, name: str) -> Path:
    """Return the file that a manifest names. Raises ModelError."""
    layers = _layers(manifest, name)
    if _LAYER + "adapter" in layers:
        raise ModelError(f"{name} in Ollama has an adapter, which is not applied here: open its base model.")
    digest = _DIGEST.fullmatch(layers.get(_LAYER + "model", ""))
    if digest is None:
        raise ModelError(f"{name} in Ollama names no GGUF file.")
    blobs = [store / "blobs" / f"sha256{sign}{digest[1]}" for sign in "-:"]  # the latter of old versions
    file = next(filter(_is_there, blobs), None)
    if file is None:
        raise ModelError(f"The file of {name} is missing in {store / 'blobs'}: `ollama pull {name}` downloads it.")
    return file


def _is_there(file: Path) -> bool:
    """Return True if this file exists. Raises ModelError if its folder may not be read, as a service's may not."""
    try:
        return file.is_file()
    except PermissionError:
        raise ModelError(f"You may not read {file.parent}, where Ollama keeps its models.") from None


def _layers(manifest: Path, name: str) -> dict[str, str]:
    """Return the digests of a manifest's layers, by their kinds. Raises ModelError."""
    try:
        if manifest.stat().st_size > MAX_MANIFEST_BYTES:
            raise ValueError("too long")
        content: Any = json.loads(manifest.read_bytes())
        return {str(each["mediaType"]): str(each["digest"]) for each in content["layers"]}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        raise ModelError(f"The manifest of {name} in Ollama cannot be read: {manifest}") from None


def lm_studio_folders() -> tuple[Path, ...]:
    """Return the folders of LM Studio's models: the one chosen in its settings, the present and the former default."""
    homes = [expanded("~/.lmstudio"), expanded("~/.cache/lm-studio")]
    with suppress(OSError, ValueError):
        homes.insert(0, Path(expanded("~/.lmstudio-home-pointer").read_text(encoding="utf-8").strip()))
    return _existing(each for home in homes for each in (*_downloads(home), home / "models"))


def llama_cpp_folders() -> tuple[Path, ...]:
    """Return the folder that llama.cpp downloads to, as LLAMA_CACHE or the platform has it."""
    from platformdirs import user_cache_path

    named = os.environ.get("LLAMA_CACHE")
    return _existing([expanded(named) if named else user_cache_path("llama.cpp", appauthor=False, opinion=False)])


def _downloads(home: Path) -> Iterator[Path]:
    """Yield the folder that LM Studio's settings name, if they do."""
    with suppress(OSError, ValueError, RecursionError):
        settings = json.loads((home / "settings.json").read_bytes())
        folder = settings.get("downloadsFolder") if isinstance(settings, dict) else None
        if isinstance(folder, str) and folder:
            yield expanded(folder)


def _existing(folders: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(each for each in folders if _is_folder(each)))


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
