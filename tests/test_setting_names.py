"""Names in settings: those that a flag would refuse are refused, and former names of settings still count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.settings.effective import load
from tests.echoing import data, engine  # noqa: F401 - fixtures


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "settings.toml"
    monkeypatch.setenv("LADE_CHAT_SETTINGS", str(file))
    return file


WRONG = ["dtype=foo", "device=gpu", "theme=nope", "model_path=./nowhere", f"data_dir={__file__}", "=3"]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_name_that_a_flag_would_refuse_is_not_saved(
    path: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings", "top_k=3", wrong]) == 2
    told = capsys.readouterr().err
    assert wrong.partition("=")[2] in told
    assert told.count("\n") == 1
    assert not path.exists()


def test_names_that_flags_know_are_saved(path: Path) -> None:
    assert main(["settings", "dtype=auto", "device=cuda:1", "theme=lade-paper"]) == 0
    assert {name: value for name, (value, _) in load(path, {}).values.items()} == {
        "dtype": "auto",
        "device": "cuda:1",
        "theme": "lade-paper",
    }
    assert main(["settings", "dtype=", "theme=nord"]) == 0
    assert load(path, {}).get("dtype") is None


def test_folders_are_saved_as_they_are_called_from_anywhere(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    assert main(["settings", "model_path=./model", "data_dir=chats"]) == 0
    saved = load(path, {})
    assert [saved.get("model_path"), saved.get("data_dir")] == [str(tmp_path / "model"), str(tmp_path / "chats")]


@pytest.mark.parametrize("command", [[], ["explain"], ["demo"], ["web"]])
def test_a_wrong_theme_is_wrong_usage(command: list[str], path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--theme", "lade-drak"]) == 2
    assert "there is no theme lade-drak; did you mean lade-dark?" in capsys.readouterr().err


def test_what_is_wrong_with_settings_is_listed(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text('theme = "nope"\ntop_p = 7\n')
    assert main(["settings", "--json"]) == 1
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert ["top_p" in problems[0], "nope" in problems[1]] == [True, True]


@pytest.mark.parametrize(
    ("command", "flags"),
    [
        ("tune", ["--no-lookahead", "--max-new-tokens=3", "--system=x", "--raw", "--debug"]),
        ("compare", ["--lookahead", "--no-lookahead"]),
    ],
)
def test_a_command_has_no_flag_that_does_nothing(
    command: str, flags: list[str], path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for flag in flags:
        assert main([command, flag]) == 2
        assert f"{command} has no such flag" in capsys.readouterr().err
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not [flag for flag in flags if f" {flag.partition('=')[0]} " in shown]


def test_a_setting_without_a_value_is_shown_as_not_set(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert any(row.split()[:4] == ["window_size", "default", "(not", "set)"] and "0: no window" in row for row in rows)
