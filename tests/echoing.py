"""An engine that answers with the question in capitals, and the fixtures of commands that ask it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lade_chat.engine.job import Job
from lade_chat.protocol.events import Event, Failed, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import FinishReason, Piece, Statistics
from tests.engines import MAKE_ENGINE, ScriptedEngine, question
from tests.running import pipe_in

STATISTICS = Statistics(generated_tokens=2, steps=1, seconds=0.5)
ENDINGS: dict[str, FinishReason] = {"stopped": "cancelled", "cut": "stop"}
"""How a reply ends, by what was asked, if not at its end."""


def echo(job: Job) -> Iterator[Event]:
    """Answer with the question in capitals; fail, be stopped, be cut short, or say nothing, where it says so.

    A question with "long" in it is answered without the three messages before it.
    """
    asked = question(job)
    yield ReplyStarted(9, dropped_messages=3 if "long" in asked else 0)
    if asked == "killed":
        raise KeyboardInterrupt
    said = "" if asked in ("silent", "cut") else asked.upper()
    pieces = (Piece(said[:2], "plain", 1, 0), Piece(said[2:], "context", 2, 0))
    yield Tokens(pieces, STATISTICS)
    if asked == "fails":
        yield Failed("the prompt is too long")
    else:
        yield ReplyFinished(ENDINGS.get(asked, "eos"), STATISTICS)


def echoing() -> ScriptedEngine:
    return ScriptedEngine(echo)


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
