"""Fixtures of commands that ask an engine which answers with the question in capitals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.engines import MAKE_ENGINE, ScriptedEngine, echoing
from tests.running import pipe_in


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    engine = echoing()
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    return engine


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the conversations, and an empty pipe."""
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    pipe_in(monkeypatch, b"")
    return tmp_path / "data"


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
