"""An engine that is asked in place of a model."""

from __future__ import annotations

import pytest

from tests.engines import MAKE_ENGINE, ScriptedEngine
from tests.running import pipe_in


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """Takes the place of the chat's engine."""
    for name in ("USE_LADE", "LADE_CHAT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    pipe_in(monkeypatch, b"")
    engine = ScriptedEngine()
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    return engine
