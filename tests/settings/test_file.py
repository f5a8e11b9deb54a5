"""Settings: a file, the environment over it, flags over both; what is wrong is told in a line, and the rest counts."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lade_chat.cli.app import main
from lade_chat.paths import atomic_write
from lade_chat.protocol.values import Sampling, Sizes
from lade_chat.settings import file
from lade_chat.settings.catalogue import SETTINGS, as_text
from lade_chat.settings.effective import load, parse
from tests.engines import ScriptedEngine
from tests.settings.writing import write

# --- the file and the environment ---------------------------------------------------------------------------------


def test_no_file_settles_nothing(path: Path) -> None:
    assert load(path, {}).values == {}
    assert load(path, {}).problems == ()


def test_the_environment_goes_over_the_file(path: Path) -> None:
    write(path, 'temperature = 0.5\ndevice = "cuda"\nstop = ["END"]\n')
    settings = load(path, {"LADE_CHAT_TEMPERATURE": "0.9", "LADE_CHAT_STOP": "A\nB\\n", "LADE_CHAT_DEVICE": ""})
    assert settings.values == {
        "temperature": (0.9, "environment"),
        "device": ("cuda", "file"),
        "stop": (("A", "B\n"), "environment"),
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("temprature = 1", "did you mean temperature?"),
        ("nonsense = 1", "there is no setting nonsense"),
        ("top_p = 2", "top_p must be a number above 0, at most 1, not 2"),
        ("top_p = nan", "top_p must be"),
        ("temperature = true", "temperature must be a number of at least 0, not true"),
        ("seed = 1.5", "seed must be a whole number"),
        ('lookahead = "yes"', "lookahead must be true or false, not 'yes'"),
        ('sampling = "hot"', "sampling must be greedy or model, not 'hot'"),
        ('stop = ["a", ""]', "stop must be a list of non-empty texts"),
        ("system = 3", "system must be a text in quotes, not 3"),
        ('data_dir = ""', "data_dir must be a text in quotes that is not empty, not ''"),
        ("keys = 3", "keys must be a table"),
        (
            "thought_delimiters = 3",
            "thought_delimiters must be a table, as [thought_delimiters] with lines like qwen =",
        ),
        *(
            (f"[thought_delimiters]\nqwen = {pair}", 'qwen must be two different texts, as ["<think>", "</think>"]')
            for pair in (
                "3",
                '"<think>"',
                '["<think>"]',
                '["a", "b", "c"]',
                '["<think>", 3]',
                '[" ", "b"]',
                '["a", "a "]',
            )
        ),
        ("[keys]\nhelp = 3", 'help must be keys as "ctrl+l"'),
        ('[keys]\nhelp = "ctrl+ l"', 'help must be keys as "ctrl+l"'),
    ],
)
def test_what_is_wrong_is_one_line_and_the_rest_counts(path: Path, line: str, words: str) -> None:
    write(path, f"max_new_tokens = 5\n{line}\n")
    settings = load(path, {})
    (trouble,) = settings.problems
    assert words in trouble
    assert str(path) in trouble
    assert "\n" not in trouble
    assert settings.values == {"max_new_tokens": (5, "file")}


def test_a_wrong_variable_is_told_and_the_file_counts(path: Path) -> None:
    write(path, "seed = 3\n")
    settings = load(path, {"LADE_CHAT_SEED": "many", "LADE_CHAT_SEEDS": "1"})
    assert settings.values == {"seed": (3, "file")}
    assert "LADE_CHAT_SEED:" in settings.problems[0]
    assert "did you mean seed?" in settings.problems[1]


@pytest.mark.parametrize(
    "content",
    [b"seed = = 3\n", b"\xff\xfe", b"seed = 1\nseed = 2\n", b'stop = ["a"\nseed = 1\n', b"seed = 1" + b"0" * 5000],
)
def test_a_file_that_cannot_be_read_is_told_and_left_alone(path: Path, content: bytes) -> None:
    write(path, "")
    path.write_bytes(content)
    (trouble,) = load(path, {}).problems
    assert str(path) in trouble
    with pytest.raises(file.SettingsError):
        file.change(path, {"seed": 1})
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["window_size", "temperature", "seed"])
def test_a_number_without_end_is_told(path: Path, name: str) -> None:
    number = "1" + "0" * 400
    write(path, f"{name} = {number}\ndebug = true\n")
    settings = load(path, {f"LADE_CHAT_{name.upper()}": number})
    assert len(settings.problems) == 2
    assert all(f"{name} must be a" in problem for problem in settings.problems)
    assert settings.values == {"debug": (True, "file")}


def test_a_byte_order_mark_before_the_settings_is_passed_over(path: Path) -> None:
    write(path, "\ufeffseed = 3\n")
    file.change(path, {"debug": True})
    assert load(path, {}).values == {"seed": (3, "file"), "debug": (True, "file")}


@pytest.mark.parametrize("arguments", [["settings", "system=\udcff"], ["ask", "Hi", "--system", "\udcff"]])
def test_bytes_that_are_not_utf_8_are_refused_in_a_line(
    path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) > 0
    (told,) = capsys.readouterr().err.splitlines()
    assert "UTF-8" in told
    assert "Error:" not in told
    assert not path.exists()
    assert engine.asked == []


def test_a_list_that_is_not_closed_is_told_as_that(path: Path) -> None:
    write(path, 'stop = ["a", "b"\ntheme = "nord"\n')
    assert "Unclosed array (at line 2" in load(path, {}).problems[0]


@pytest.mark.parametrize("assignment", ["keys=f1", "keys.help=f1", "keys.hlep=", "race=f2"])
def test_keys_are_set_in_the_file_and_no_other_name_is_suggested(
    path: Path, assignment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settings", assignment]) == 2
    told = capsys.readouterr().err
    assert "[keys]" in told
    assert str(path) in told
    assert "did you mean" not in told


def test_a_change_keeps_comments_and_what_it_does_not_name(path: Path) -> None:
    write(path, '# mine\nseed = 1 # lucky\nunknown = 3\n\n[keys]\nhelp = "f1"\n')
    file.change(path, {"seed": 2, "theme": "nord", "stop": ("a\n",), "top_p": None})
    text = path.read_text()
    assert "# mine" in text
    assert "seed = 2 # lucky" in text
    assert load(path, {}).keys == {"help": "f1"}
    assert load(path, {}).get("stop") == ("a\n",)
    assert "unknown = 3" in text
    file.change(path, {"seed": None, "theme": None, "stop": None})
    assert load(path, {}).values == {}


def test_changes_at_the_same_time_are_all_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slowly(*arguments: Any, **keywords: Any) -> None:
        time.sleep(0.02)
        atomic_write(*arguments, **keywords)

    monkeypatch.setattr(file, "atomic_write", slowly)
    names = ("temperature", "top_k", "seed")
    with ThreadPoolExecutor(len(names)) as threads:
        list(threads.map(lambda name: file.change(path, {name: 1}), names))
    assert set(load(path, {}).values) == set(names)


def test_a_linked_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("seed = 1\n")
    path.parent.mkdir()
    path.symlink_to(target)
    file.change(path, {"seed": 2})
    assert path.is_symlink()
    assert target.read_text() == "seed = 2\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
def test_what_is_not_a_file_stays_what_it_is(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)  # as /dev/null, which turns settings off
    Thread(target=path.write_text, args=("",), daemon=True).start()  # whoever reads it finds nothing
    with pytest.raises(file.SettingsError, match="is not a file"):
        file.change(path, {"seed": 3})
    assert path.is_fifo()
    assert not path.read_text()


def test_a_folder_that_cannot_be_written_is_one_line(unprivileged: Path) -> None:
    (unprivileged / "config").mkdir(mode=0o500)
    with pytest.raises(file.SettingsError, match="could not be saved"):
        file.change(unprivileged / "config" / "settings.toml", {"seed": 2})


@pytest.mark.parametrize("name", SETTINGS)
def test_every_value_is_read_back_from_its_text(name: str) -> None:
    values = {"sampling": "model", "colours": "sources", "lookahead": False, "stop": ("a\nb", "c"), "top_p": 0.25}
    values["ngram_size"] = 7
    value = values.get(name, "x" if _takes(name, "x") else True if _takes(name, "true") else 1)
    assert parse(name, as_text(value)) == value


def _takes(name: str, text: str) -> bool:
    try:
        parse(name, text)
    except ValueError:
        return False
    return True


# --- the command line ---------------------------------------------------------------------------------------------


def test_settings_reach_the_engine_and_flags_go_over_them(path: Path, engine: ScriptedEngine) -> None:
    write(
        path, 'model_path = "folder"\ndtype = "float32"\nngram_size = 3\ntemperature = 0.5\ntop_k = 9\nsystem = "Hm."\n'
    )
    assert main(["ask", "x", "--temperature", "0.7", "--dtype", "bfloat16"]) == 0
    assert (engine.loaded.path, engine.loaded.dtype) == ("folder", "bfloat16")
    assert engine.asked[0].options.sizes == Sizes(ngram_size=3)
    assert engine.asked[0].options.sampling == Sampling(temperature=0.7, top_k=9)
    assert engine.asked[0].messages[0].content == "Hm."


def test_a_flag_before_the_command_goes_over_the_file_too(path: Path, engine: ScriptedEngine) -> None:
    write(path, "max_new_tokens = 5\nlookahead = false\n")
    assert main(["--max-new-tokens", "6", "ask", "x"]) == 0
    assert (engine.asked[0].options.max_new_tokens, engine.asked[0].options.lookahead) == (6, False)


def test_use_lade_goes_over_the_file(path: Path, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    write(path, "lookahead = false\n")
    monkeypatch.setenv("USE_LADE", "1")
    assert main(["ask", "x"]) == 0
    assert engine.asked[0].options.lookahead


def test_a_bad_setting_is_a_warning_and_the_answer_comes(
    path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    write(path, "temprature = 1\nmax_new_tokens = 5\n")
    assert main(["ask", "x"]) == 0
    captured = capsys.readouterr()
    assert captured.out == "hi\n"
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("warning: ")
    assert engine.asked[0].options.max_new_tokens == 5
