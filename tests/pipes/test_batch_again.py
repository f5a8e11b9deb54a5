"""A batch that is run again into the same file: what failed is asked once more, and another model's file is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lade_chat.cli.app import main
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Event, Loaded
from tests.echoing import echo, records
from tests.engines import MAKE_ENGINE, MODEL, ScriptedEngine, question

BATCH = ["ask", "--batch", "prompts", "-o", "answers"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(engine: ScriptedEngine) -> list[str]:
    return [command.messages[-1].content for command in engine.asked]


def test_what_failed_is_asked_again_and_answered_in_its_place(
    here: Path,
    engine: ScriptedEngine,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "prompts").write_text("one\nfails\ntwo\n")
    for _ in range(2):
        assert main(BATCH) == 1
        assert "1 of 3 prompts failed" in capsys.readouterr().err
    assert asked(engine) == ["one", "fails", "two", "fails"]
    assert [each.get("text") for each in records(here / "answers")] == ["ONE", None, "TWO"]

    def answer(job: Job) -> Iterator[Event]:
        assert isinstance(job.command, Reply)
        assert question(job) in ("fails", "three")
        answered = json.loads((here / "answers").read_text().splitlines()[1])
        assert ("error" in answered) == (question(job) == "fails")
        yield from echo(Job(replace(job.command, messages=(replace(job.command.messages[0], content="works"),))))

    again = ScriptedEngine(answer)
    monkeypatch.setattr(MAKE_ENGINE, lambda options: again)
    (here / "prompts").write_text("one\nfails\ntwo\nthree\n")
    (here / "answers").write_text((here / "answers").read_text() + '{"torn')
    assert main(BATCH) == 0
    assert asked(again) == ["fails", "three"]
    assert [each["text"] for each in records(here / "answers")] == ["ONE", "WORKS", "TWO", "WORKS"]
    assert [each["line"] for each in records(here / "answers")] == [1, 2, 3, 4]


@pytest.mark.parametrize("prompts", ["one\n", "one\ntwo\n"])
def test_answers_of_another_model_are_left_alone(
    here: Path,
    engine: ScriptedEngine,
    prompts: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "prompts").write_text("one\n")
    assert main(BATCH) == 0
    before = (here / "answers").read_bytes()

    def load(_job: Job) -> Iterator[Event]:
        yield Loaded(replace(MODEL, name="another"))

    other = ScriptedEngine(echo, load)
    monkeypatch.setattr(MAKE_ENGINE, lambda options: other)
    (here / "prompts").write_text(prompts)
    capsys.readouterr()
    assert main(BATCH) == 1
    assert capsys.readouterr().err == "error: answers was made by scripted: choose another --output.\n"
    assert other.asked == []
    assert (here / "answers").read_bytes() == before


def test_a_file_that_cannot_be_is_told_before_anything_is_asked(
    here: Path,
    engine: ScriptedEngine,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (here / "prompts").write_text("one\n")
    for name in ("a" * 300, "prompts/answers", "."):
        assert main([*BATCH[:-1], name]) == 1
        told = capsys.readouterr().err
        assert told.count("\n") == 1
        assert "LADE_CHAT_TRACEBACK" not in told
    assert engine.asked == []
