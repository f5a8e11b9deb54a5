"""Folders of a user who has nothing yet, for tests that look for models; and a file that people have."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from tests.gguf_format.kept import find_real_file


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link_kernels: Callable[[Path], None]) -> Path:
    """The user's folder, empty; the working folder, the hub's cache and the conversations' lie below it."""
    folder = tmp_path / "home"
    (folder / "work").mkdir(parents=True)
    link_kernels(folder / ".cache")
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, below in (
        ("HOME", ""),
        ("USERPROFILE", ""),
        ("XDG_CACHE_HOME", ".cache"),
        ("LADE_CHAT_DATA_DIR", "data"),
    ):
        monkeypatch.setenv(name, str(folder / below))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder / "hub"))
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO()))
    monkeypatch.chdir(folder / "work")
    return folder


@pytest.fixture(scope="session")
def real_file() -> Path:
    """A real model; tests of it are skipped where it is not at hand."""
    return find_real_file()
