"""`lade-chat settings`: each with its origin, changed, and refused in a line."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.settings.catalogue import SETTINGS, Texts, as_text
from lade_chat.settings.effective import load
from tests.engines import ScriptedEngine
from tests.settings.writing import write


def test_each_setting_is_shown_with_its_origin(
    path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, 'seed = 3\nsystem = "a\\nb"\n[keys]\nrace = "f11"\n')
    monkeypatch.setenv("LADE_CHAT_TOP_P", "0.5")
    assert main(["--device", "cpu", "settings", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["file"] == str(path)
    assert list(shown["settings"]) == list(SETTINGS)
    assert shown["settings"]["seed"] == {"value": 3, "origin": "file"}
    assert shown["settings"]["top_p"] == {"value": 0.5, "origin": "environment"}
    assert shown["settings"]["device"] == {"value": "cpu", "origin": "flag"}
    assert shown["settings"]["dtype"] == {"value": None, "origin": "default"}
    assert shown["keys"]["race"] == {"value": "f11", "origin": "file"}
    assert main(["settings"]) == 0
    assert '"a\\nb"' in capsys.readouterr().out
    assert engine.commands == []


@pytest.mark.usefixtures("engine")
def test_meanings_of_settings_break_between_words_on_a_terminal(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, 'system = "You are a very careful helper."\n')
    assert main(["settings"]) == 0
    piped = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["settings"]) == 0
    shown = capsys.readouterr().out
    rows = [line for line in shown.splitlines() if not line.startswith(("file:", "data_dir"))]  # paths of any length
    assert max(map(len, rows)) <= 80 < max(map(len, piped.splitlines()))
    assert shown.split() == piped.split()
    begins = next(line.index("a model's folder") for line in shown.splitlines() if line.startswith("model_path"))
    assert f"\n{' ' * begins}id; without it, the" in shown


def test_settings_are_changed_from_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "temperature=0.8", "stop=a=b", "max-new-tokens=7"]) == 0
    assert load(path, {}).values == {
        "temperature": (0.8, "file"),
        "stop": (("a=b",), "file"),
        "max_new_tokens": (7, "file"),
    }
    capsys.readouterr()
    assert main(["settings", "temperature=", "max_new_tokens=", "lookahead=", "colours="]) == 0
    assert load(path, {}).get("temperature") is None
    told = capsys.readouterr().err
    assert (
        "saved; temperature is no longer set (more is more varied, 0 is greedy); max_new_tokens is by default 1024;"
        in told
    )
    for wrong in (["settings", "temprature=1"], ["settings", "top_p=3", "seed=1"], ["settings", "seed"]):
        assert main(wrong) == 2
    assert load(path, {}).get("seed") is None


def test_settings_that_are_wrong_are_exit_code_1(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(path, 'theme = "lade-papper"\n[keys]\nraze = "f2"\n')
    assert main(["settings"]) == 1
    told = capsys.readouterr().err
    assert "did you mean race?" in told
    assert "did you mean lade-paper?" in told


# --- Texts in settings, such as stop strings: written with quotes and escapes, and read back as they were


@pytest.mark.parametrize(
    ("written", "texts"),
    [
        (r"\n", ("\n",)),
        (r'"\n"', ("\n",)),
        ("' END'", (" END",)),
        ("a\nb", ("a", "b")),
        (r"\\n", (r"\n",)),
        (r"C:\foo", (r"C:\foo",)),
        ('"', ('"',)),
        ('say "a" or "b"', ('say "a" or "b"',)),
    ],
)
def test_texts_are_written_without_quotes_and_line_breaks_as_escapes(written: str, texts: tuple[str, ...]) -> None:
    assert Texts().parse(written) == texts


def test_texts_of_any_characters_are_read_back_as_they_were() -> None:
    for length in range(1, 5):
        for characters in product("\\n\n\"' ", repeat=length):
            texts = ("".join(characters), "b")
            assert Texts().parse(as_text(texts)) == texts
