"""Models in settings: those at hand, and short names."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from lade_chat.cli.app import main
from lade_chat.known_models.asked_model import misspelt_alias, named
from lade_chat.known_models.models_at_hand import completions, in_folder, recent, remember
from lade_chat.paths import bundled_model_path
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings.effective import load
from tests.engines import ScriptedEngine
from tests.hub_server import running_hub
from tests.settings.writing import write


def make_model(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(save({}))


def test_recent_models_are_newest_first_and_each_once(tmp_path: Path) -> None:
    for number in range(12):
        remember(tmp_path, ModelOptions(path=f"org/model-{number % 10}", device="cpu"))
    paths = [model.path for model in recent(tmp_path)]
    assert paths == [f"org/model-{number}" for number in (1, 0, 9, 8, 7, 6, 5, 4)]
    assert recent(tmp_path)[0].device == "cpu"
    (tmp_path / "recent-models.json").write_text("{")
    assert recent(tmp_path) == ()


def test_folders_with_models_are_found_and_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_model(tmp_path / "models" / "small")
    make_model(tmp_path / "models" / ".hidden")
    (tmp_path / "models" / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert [model.path for model in in_folder(tmp_path)] == [os.path.join(".", "models", "small")]
    assert [(model.path, model.is_model) for model in completions("./models/")] == [
        ("./models/empty", False),
        ("./models/small", True),
    ]
    assert [model.path for model in completions("./models/.h")] == ["./models/.hidden"]
    assert completions("small") == ()


def test_a_short_name_is_kept_used_and_removed(
    path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    monkeypatch.chdir(path.parent.parent)
    write(path, '# mine\ntheme = "nord"\n')
    assert main(["models", "qwen=Qwen/Qwen2.5-0.5B-Instruct"]) == 0
    assert "# mine" in path.read_text()
    assert main(["ask", "-m", "qwen", "Hello", "--no-save"]) == 0
    assert engine.loaded.path == "Qwen/Qwen2.5-0.5B-Instruct"
    capsys.readouterr()
    assert main(["ask", "-m", "qwne", "Hello", "--no-save"]) == 2
    assert "no folder or short name qwne; did you mean qwen?" in capsys.readouterr().err
    assert main(["models"]) == 0
    assert "-m qwen" in capsys.readouterr().out
    assert main(["models", "qwen="]) == 0
    assert load(path, {}).aliases == {}
    Path("files").mkdir()
    Path("files/cut.gguf").write_bytes(b"GGUF")
    for wrong, words in (
        ("qwen=", "no short name qwen"),
        ("qwen", "NAME=PATH_OR_HUB_ID"),
        ("broken=/nope", "There is no folder /nope"),
        ("empty=.", ". holds no config.json"),
        ("cut=files/cut.gguf", "cut.gguf is not a readable GGUF file"),
    ):
        assert main(["models", wrong]) == 2
        assert words in capsys.readouterr().err
    assert load(path, {}).aliases == {}


def test_a_model_of_several_short_names_is_listed_with_all_of_them(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    monkeypatch.chdir(path.parent.parent)
    assert main(["models", "qwen2=Qwen/Qwen2.5-0.5B-Instruct", "qwen=Qwen/Qwen2.5-0.5B-Instruct"]) == 0
    assert main(["models"]) == 0
    assert "Qwen/Qwen2.5-0.5B-Instruct  -m qwen2, -m qwen\n" in capsys.readouterr().out


def test_a_system_prompt_is_called_by_its_name(path: Path, engine: ScriptedEngine) -> None:
    write(path, '[prompts]\nbrief = "One sentence."\n')
    assert main(["ask", "--system", "brief", "Hello", "--no-save"]) == 0
    assert main(["ask", "--system", "in brief", "Hello", "--no-save"]) == 0
    assert [command.messages[0].content for command in engine.asked] == ["One sentence.", "in brief"]


def test_wrong_short_names_are_told(path: Path) -> None:
    write(path, "[aliases]\nqwen = 3\n")
    (problem,) = load(path, {}).problems
    assert "aliases must be a table" in problem


@pytest.mark.parametrize("content", ["aliases = 3\n", 'aliases = "qwen"\n', '[[aliases]]\nqwen = "a/b"\n'])
def test_a_short_name_does_not_go_where_there_is_no_table(
    path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    write(path, content)
    assert main(["models", "small=a/b"]) == 1
    assert "error: Nothing was saved: aliases in" in capsys.readouterr().err
    assert path.read_text() == content


def test_the_hub_is_searched_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with running_hub() as hub:
        hub.repositories["org/Small-Chat"] = Path()
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
        assert main(["models", "--search", "small"]) == 0
        assert capsys.readouterr().out == "org/Small-Chat  3.0 kB safetensors bfloat16 · 12.3k downloads\n"
        assert main(["models", "--search", "none", "--json"]) == 0
        assert json.loads(capsys.readouterr().out) == {"models": []}
        assert main(["models", "--search", "none"]) == 1
        assert "has no such model" in capsys.readouterr().err
    for blank in ("", "  "):
        assert main(["models", "--search", blank]) == 2
        assert "--search is empty" in capsys.readouterr().err
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert main(["models", "--search", "small"]) == 1
    assert "cannot be reached" in capsys.readouterr().err


def test_models_are_listed_with_size_and_format(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))  # where nothing was opened lately
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text('{"dtype": "float32"}')  # in which its author ran it
    (folder / "model.safetensors").write_bytes(save({"ones": np.ones(300, np.float32)}))
    assert main(["models", "--json"]) == 0
    bundled, tiny = json.loads(capsys.readouterr().out)["models"]
    assert bundled["about"].endswith("MB safetensors bfloat16, used without -m")
    assert tiny == {"path": "./tiny", "about": "1.3 kB safetensors float32"}
    remember(tmp_path / "data", ModelOptions(path=str(folder), device="cpu"))
    assert main(["models", "small one=tiny"]) == 0
    assert main(["models"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["./tiny   1.3 kB safetensors float32, recent, -m 'small one'"]


def test_the_bundled_model_is_listed_once_in_a_clone_of_the_repository(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(bundled_model_path().parent)
    assert main(["models"]) == 0
    assert capsys.readouterr().out.count("safetensors bfloat16") == 1


def test_a_copy_of_the_bundled_model_is_not_listed_beside_it(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As in a clone of the repository whose package is installed elsewhere; of another version it is another model."""
    write(path, "")
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    copy = Path(shutil.copytree(bundled_model_path(), tmp_path / "clone" / "assets" / "model"))
    monkeypatch.chdir(tmp_path / "clone")
    assert main(["models"]) == 0
    assert "assets" not in capsys.readouterr().out
    with (copy / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"x")
    assert main(["models"]) == 0
    assert "./assets/model  " in capsys.readouterr().out


def test_the_bundled_model_has_a_name_unless_it_is_given_to_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert named("bundled", {}) is None
    assert named("bundled", {"bundled": "a/b"}) == "a/b"
    assert named("small", {"small": "a/b"}) == "a/b"
    assert named("a/b", {}) == "a/b"
    assert misspelt_alias("bundled", {"bundle": "a/b"}) is None
    (tmp_path / "bundled").mkdir()
    assert named("bundled", {}) == "bundled"
