"""Conversations of `ask`: answers that are kept and gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from lade_chat.cli.app import main
from lade_chat.protocol.values import Message
from lade_chat.store.all_conversations import Store
from tests.engines import MAKE_ENGINE, ScriptedEngine


def test_an_answer_is_kept_and_gone_on_with(engine: ScriptedEngine, data: Path) -> None:
    assert main(["ask", "one", "--system", "Be brief."]) == 0
    assert main(["ask", "-c", "two"]) == 0
    assert engine.asked[1].messages == (
        Message("system", "Be brief."),
        Message("user", "one"),
        Message("assistant", "ONE"),
        Message("user", "two"),
    )
    latest = Store(data).latest()
    assert latest is not None
    assert [(turn.question, turn.reply, turn.ending) for turn in latest.path] == [
        ("one", "ONE", "eos"),
        ("two", "TWO", "eos"),
    ]
    assert [piece.origin for piece in latest.path[0].pieces()] == ["plain", "context"]


def test_without_continue_a_new_conversation_begins(engine: ScriptedEngine, data: Path) -> None:
    assert main(["ask", "one"]) == main(["ask", "two"]) == 0
    assert engine.asked[1].messages == (Message("user", "two"),)
    assert len(Store(data).page()) == 2


@pytest.mark.parametrize("flag", ["--no-save", "--raw"])
def test_what_is_not_to_be_kept_leaves_nothing(engine: ScriptedEngine, data: Path, flag: str) -> None:
    assert main(["ask", "one", flag]) == 0
    assert not data.exists()


@pytest.mark.parametrize("command", [["ask", "one"], ["ask", "--batch", "prompts"], ["compare", "one"]])
def test_a_folder_that_a_command_has_opened_is_a_model_at_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    monkeypatch.setattr(MAKE_ENGINE, lambda options: ScriptedEngine())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    Path("prompts").write_text("one\n")
    asked, unsaved = tmp_path / "asked", tmp_path / "unsaved"
    for folder in (asked, unsaved):
        folder.mkdir()
        (folder / "config.json").write_text("{}")
        save_file({"weight": torch.zeros(350)}, folder / "model.safetensors")
    assert main([*command, "--model-path", str(asked)]) == 0
    assert main(["ask", "one", "--model-path", str(unsaved), "--no-save"]) == 0
    capsys.readouterr()
    assert main(["models"]) == 0
    told = capsys.readouterr().out
    assert f"{asked}  1.5 kB safetensors float32, recent\n" in told
    assert str(unsaved) not in told


def test_continue_without_a_conversation_begins_one(
    engine: ScriptedEngine, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "--continue", "one"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "ONE\n"
    assert captured.err.count("\n") == 1
    assert len(Store(data).page()) == 1


def test_what_was_said_before_a_failure_is_kept(engine: ScriptedEngine, data: Path) -> None:
    assert main(["ask", "fails"]) == 1
    latest = Store(data).latest()
    assert latest is not None
    assert latest.last is not None
    assert (latest.last.reply, latest.last.ending) == ("FAILS", "failed")


def test_a_question_without_any_answer_is_not_kept(engine: ScriptedEngine, data: Path) -> None:
    assert main(["ask", "killed"]) == 130
    assert Store(data).page() == ()


def test_a_folder_that_cannot_be_used_ends_no_answer(
    engine: ScriptedEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken").write_text("a file")
    assert main(["ask", "one", "--data-dir", str(tmp_path / "taken" / "data")]) == 0
    captured = capsys.readouterr()
    assert captured.out == "ONE\n"
    assert captured.err.startswith("warning: This turn is not saved: ")
    assert "(Not a directory)" in captured.err
    assert "tried again" not in captured.err
    assert "--data-dir FOLDER" in captured.err
    assert "--no-save" in captured.err
    assert captured.err.count("\n") == 1
    assert main(["ask", "one", "--continue", "--data-dir", str(tmp_path / "taken" / "data")]) == 1
    assert "--data-dir FOLDER" in capsys.readouterr().err
