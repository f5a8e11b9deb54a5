"""Folders in which other programs keep GGUF files: Ollama, LM Studio, llama.cpp."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from lade_chat.paths import expanded


def ollama_stores() -> tuple[Path, ...]:
    """Return the folders of Ollama's models, the most likely first: the user's, and those of its service on Linux."""
    if named := os.environ.get("OLLAMA_MODELS"):
        return (expanded(named),)
    system = ("/usr/share/ollama/.ollama/models", "/var/lib/ollama/models", "/var/lib/ollama")
    found = ("~/.ollama/models", *(system if sys.platform == "linux" else ()))
    return tuple(each for each in map(expanded, found) if _is_folder(each / "manifests"))


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
