"""A batch that is run again into the same file: what failed is asked once more, and another model's file is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from lade_chat.cli.app import main
from lade_chat.cli.running.batch import read_batch, run_batch
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Event, Loaded, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Sampling
from tests.echoing import records
from tests.engines import MAKE_ENGINE, MODEL, STATISTICS, ScriptedEngine, echo, question

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
    (here / "answers").write_text((here / "answers").read_text() + '{"line": 4, "pro')
    assert main(BATCH) == 0
    assert asked(again) == ["fails", "three"]
    assert [each["text"] for each in records(here / "answers")] == ["ONE", "WORKS", "TWO", "WORKS"]
    assert [each["line"] for each in records(here / "answers")] == [1, 2, 3, 4]


@pytest.mark.parametrize("prompts", ["one\n", "one\ntwo\n"])
def test_a_line_of_something_else_is_not_cut_off(here: Path, engine: ScriptedEngine, prompts: str) -> None:
    (here / "prompts").write_text(prompts)
    for kept in ("", '{"line": 1, "prompt": "one", "system": null, "text": "ONE"}\n'):
        (here / "answers").write_text(kept + "My only letter")
        assert main(BATCH) == 1
        assert (here / "answers").read_text() == kept + "My only letter"
    assert engine.asked == []


def test_the_prompts_are_never_taken_for_answers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "prompts").write_text("one\n")
    assert main(["ask", "--batch", "prompts", "--output", "./prompts"]) == 2
    assert "--output prompts is the file of the prompts" in capsys.readouterr().err


def test_two_batches_do_not_write_one_file(
    here: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "prompts").write_text("one\ntwo\nthree\n")

    def answer(job: Job) -> Iterator[Event]:
        if question(job) == "two" and not engine.asked:
            with monkeypatch.context() as meanwhile:
                meanwhile.setattr(MAKE_ENGINE, lambda options: engine)
                assert main(BATCH) == 0
        yield from echo(job)

    monkeypatch.setattr(MAKE_ENGINE, lambda options: ScriptedEngine(answer))
    assert main(BATCH) == 1
    assert "answers was changed by another program meanwhile" in capsys.readouterr().err
    assert [each["text"] for each in records(here / "answers")] == ["ONE", "TWO", "THREE"]
    assert main(BATCH) == 0


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


def test_answers_that_are_kept_are_counted(
    here: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "prompts").write_text("one\ntwo\n")
    assert main(BATCH) == 0
    assert "answered already" not in capsys.readouterr().err
    assert main(BATCH) == 0
    assert capsys.readouterr().err == "2 of 2 prompts were answered already in answers: nothing is asked again\n"
    (here / "prompts").write_text("one\ntwo\nthree\n")
    assert main(BATCH) == 0
    assert capsys.readouterr().err == "2 of 3 prompts were answered already in answers: 1 to ask\n"
    assert asked(engine) == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (["--max-new-tokens", "7"], "max_new_tokens"),
        (["--stop", "H", "--max-new-tokens", "7"], "max_new_tokens, stop"),
        (["--temperature", "0.8"], "sampling"),
        (["--temperature", "0"], ""),
        (["--system", "S"], "system"),
        (["--system", "S", "--stop", "H"], "stop, system"),
    ],
)
def test_answers_that_were_made_with_other_settings_are_kept_with_a_warning(
    here: Path, engine: ScriptedEngine, flags: list[str], names: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "prompts").write_text("one\ntwo\n")
    assert main(BATCH) == 0
    before = (here / "answers").read_bytes()
    capsys.readouterr()
    assert main([*BATCH, *flags]) == 0
    counted, *warnings = capsys.readouterr().err.splitlines()
    assert counted.startswith("2 of 2 prompts were answered already")
    assert [names in warning and "--output" in warning for warning in warnings] == [True] * bool(names)
    assert (here / "answers").read_bytes() == before


def test_a_line_that_has_its_own_system_prompt_is_not_touched_by_the_flag(
    here: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "prompts").write_text('{"prompt": "one", "system": "own"}\n')
    assert main([*BATCH, "--system", "S"]) == 0
    assert main([*BATCH, "--system", "another"]) == 0
    assert "warning" not in capsys.readouterr().err
    (here / "prompts").write_text('{"prompt": "one", "system": "changed"}\n')
    assert main(BATCH) == 0
    assert "warning: answers in answers were made with other settings (system)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("again", "differs"),
    [
        (Sampling(temperature=0.5), False),
        (Sampling(temperature=0.5, seed=3), False),
        (Sampling(from_model=True), False),
        (Sampling(temperature=0.5, seed=4), True),
        (Sampling(temperature=0.6), True),
        (Sampling(seed=3), True),  # implies temperature 1
        (None, True),
    ],
)
def test_sampling_differs_where_a_value_asked_for_is_not_the_recorded_one(
    here: Path, again: Sampling | None, differs: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(_job: Job) -> Iterator[Event]:
        yield ReplyFinished("eos", replace(STATISTICS, sampling=Sampling(0.5, 1.0, 0, seed=3)))

    (here / "prompts").write_text("one\n")
    items, answers = read_batch(here / "prompts", None), here / "answers"
    for sampling in (Sampling(temperature=0.5, seed=3), again):
        capsys.readouterr()
        with ScriptedEngine(answer):
            run_batch(items, answers, ModelOptions(), DecodingOptions(sampling=sampling))
    assert ("(sampling)" in capsys.readouterr().err) == differs


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
