"""A file of settings of each test's own, and an engine that is asked in place of a model."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.settings import file
from tests.engines import MAKE_ENGINE, ScriptedEngine
from tests.running import pipe_in


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file, which is not there yet, beside a data folder in which nothing was opened."""
    path = tmp_path / "config" / "settings.toml"
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv(file.VARIABLE, str(path))
    return path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedEngine:
    monkeypatch.delenv("USE_LADE", raising=False)
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    pipe_in(monkeypatch, b"")
    engine = ScriptedEngine()
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    return engine
