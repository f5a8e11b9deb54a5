"""Settings: a file, the environment over it, flags over both; what is wrong is told in a line, and the rest counts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.protocol.values import Sampling, Sizes
from lade_chat.settings import file
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.kinds import as_text
from lade_chat.settings.models import completions, in_folder, recent, remember
from lade_chat.settings.settings import load, parse
from tests.engines import MAKE_ENGINE, ScriptedEngine
from tests.hub_server import running_hub
from tests.running import pipe_in


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The settings file, which is not there yet."""
    path = tmp_path / "config" / "settings.toml"
    monkeypatch.setenv(file.VARIABLE, str(path))
    return path


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedEngine:
    monkeypatch.delenv("USE_LADE", raising=False)
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))
    pipe_in(monkeypatch, b"")
    engine = ScriptedEngine()
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    return engine


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


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
        ("keys = 3", "keys must be a table"),
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


@pytest.mark.parametrize("assignment", ["keys=f1", "keys.help=f1", "keys.hlep="])
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


def test_a_linked_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("seed = 1\n")
    path.parent.mkdir()
    path.symlink_to(target)
    file.change(path, {"seed": 2})
    assert path.is_symlink()
    assert target.read_text() == "seed = 2\n"


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
    assert f"\n{' ' * begins}without it, the" in shown


def test_settings_are_changed_from_the_command_line(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "temperature=0.8", "stop=a=b", "max-new-tokens=7"]) == 0
    assert load(path, {}).values == {
        "temperature": (0.8, "file"),
        "stop": (("a=b",), "file"),
        "max_new_tokens": (7, "file"),
    }
    assert main(["settings", "temperature="]) == 0
    assert load(path, {}).get("temperature") is None
    for wrong in (["settings", "temprature=1"], ["settings", "top_p=3", "seed=1"], ["settings", "seed"]):
        assert main(wrong) == 2
    assert load(path, {}).get("seed") is None


def test_settings_that_are_wrong_are_exit_code_1(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(path, 'theme = "lade-papper"\n[keys]\nraze = "f2"\n')
    assert main(["settings"]) == 1
    told = capsys.readouterr().err
    assert "did you mean race?" in told
    assert "did you mean lade-paper?" in told


# --- models at hand -----------------------------------------------------------------------------------------------


def make_model(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")


def test_recent_models_are_newest_first_and_each_once(tmp_path: Path) -> None:
    for number in range(12):
        remember(tmp_path, f"org/model-{number % 10}", "cpu", None)
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


# --- models -------------------------------------------------------------------------------------------------------


def test_a_short_name_is_kept_used_and_removed(
    path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.settings.models.in_hub_cache", lambda: ())
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
    for wrong, words in (
        ("qwen=", "no short name qwen"),
        ("qwen", "NAME=PATH_OR_HUB_ID"),
        ("broken=/nope", "There is no folder /nope"),
    ):
        assert main(["models", wrong]) == 2
        assert words in capsys.readouterr().err
    assert load(path, {}).aliases == {}


def test_a_model_of_several_short_names_is_listed_with_all_of_them(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.settings.models.in_hub_cache", lambda: ())
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
    monkeypatch.setattr("lade_chat.settings.models.in_hub_cache", lambda: ())
    monkeypatch.setenv("LADE_CHAT_DATA_DIR", str(tmp_path / "data"))  # where nothing was opened lately
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text('{"dtype": "float32"}')  # in which its author ran it
    (folder / "model.safetensors").write_bytes(b"0" * 1500)
    assert main(["models", "--json"]) == 0
    bundled, tiny = json.loads(capsys.readouterr().out)["models"]
    assert bundled["about"].endswith("MB safetensors bfloat16, used without -m")
    assert tiny == {"path": "./tiny", "about": "1.5 kB safetensors"}
