"""Fixtures for the tests of the screen: a scripted engine, and an environment that renders alike everywhere."""

from __future__ import annotations

import pytest

from tests.tui.scripted import ScriptedEngine


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM", "TEXTUAL_FILTERS"):
        monkeypatch.delenv(name, raising=False)
