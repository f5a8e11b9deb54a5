"""``ask`` takes what earlier conversations said, unless it is told not to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Remember
from lade_chat.protocol.events import Event, Loaded, ReplyFinished, Tokens
from lade_chat.protocol.values import EarlierReply, ModelInfo, Piece, Statistics
from tests.engines import MAKE_ENGINE, ScriptedEngine
from tests.running import pipe_in

MARK = "f" * 32


@pytest.fixture
def talking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedEngine:
    """An engine that says the same to everything."""

    def answer(job: Job) -> Iterator[Event]:
        if not isinstance(job.command, Remember):
            yield Tokens((Piece("hi", "plain", 7, 0),), Statistics())
            yield ReplyFinished("eos", Statistics(), successors=b"learnt")

    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    pipe_in(monkeypatch, b"")
    loaded = Loaded(ModelInfo("tiny", "cpu", "float32", 1, 512, True, fingerprint=MARK))
    engine = ScriptedEngine(answer, lambda _job: iter([loaded]))
    monkeypatch.setattr(MAKE_ENGINE, lambda _options: engine)
    return engine


@pytest.mark.parametrize(
    ("first", "second", "taken"),
    [
        ([], [], 1),
        (["--no-save"], [], 0),
        ([], ["--no-save"], 0),
        ([], ["--raw"], 0),
        ([], ["--no-remember"], 0),
    ],
)
def test_ask_takes_what_was_said_unless_it_is_told_not_to(
    talking: ScriptedEngine, first: list[str], second: list[str], taken: int
) -> None:
    assert main(["ask", "one", *first]) == 0
    assert main(["ask", "two", *second]) == 0
    found = [command for command in talking.commands if isinstance(command, Remember)]
    assert found == [Remember(MARK, (EarlierReply("one", (7,), b"learnt"),))] * taken


def test_the_setting_turns_it_off(talking: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LADE_CHAT_REMEMBER", "off")
    assert main(["ask", "one"]) == main(["ask", "two"]) == 0
    assert not any(isinstance(command, Remember) for command in talking.commands)
