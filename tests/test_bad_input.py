"""What goes wrong around the command line: odd files, closed streams, signals at any moment; a line each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from checkpoints import make_qwen2
from safetensors.torch import load_file, save_file

from lade_chat.cli.app import main
from lade_chat.cli.running.batch import read_batch
from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import read_json
from tests.echoing import data, engine  # noqa: F401 - fixtures
from tests.engines import ScriptedEngine

DEEP = "[" * 200_000 + "]" * 200_000
posix = pytest.mark.skipif(os.name == "nt", reason="it needs a POSIX shell")


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    told = capsys.readouterr().err
    assert told.count("\n") == 1, told
    assert "Error:" not in told
    return told


def run(code: str, redirection: str) -> subprocess.CompletedProcess[str]:
    """A Python program started by a shell with streams redirected."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = ["sh", "-c", f'exec "$0" -c "$1" {redirection}', sys.executable, code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)


# --- JSON ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e999", '{"a": [NaN]}'])
def test_an_id_that_cannot_be_written_again_is_refused_before_anything_is_asked(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    value: str,
) -> None:
    (tmp_path / "prompts").write_text(f'one\n{{"prompt": "two", "id": {value}}}\n')
    assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(tmp_path / "answers")]) == 1
    assert "line 2: the id is not JSON" in one_line(capsys)
    assert engine.asked == []
    assert not (tmp_path / "answers").exists()


@pytest.mark.parametrize("value", ["1", "1.5", "null", '"NaN"', '["a", {"b": 1}]', str(10**4000)])
def test_any_other_id_is_repeated_and_known_again(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    value: str,
) -> None:
    (tmp_path / "prompts").write_text(f'{{"prompt": "one", "id": {value}}}\n')
    for _ in range(2):
        assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(tmp_path / "answers")]) == 0
    assert len(engine.asked) == 1
    assert json.loads((tmp_path / "answers").read_text())["id"] == json.loads(value)


def test_json_that_is_nested_without_end_is_a_line(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "file"
    path.write_text(f'{{"prompt": "x", "id": {DEEP}}}\n')
    for read in (lambda: read_batch(path, None), lambda: read_json(path)):
        with pytest.raises(LadeChatError, match="nested too deeply") as refused:
            read()
        assert str(path) in str(refused.value)
    (tmp_path / "prompts").write_text("one\n")
    assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(path)]) == 1
    assert "does not answer line 1" in one_line(capsys)


def test_settings_that_are_nested_without_end_are_a_warning(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "settings.toml"
    monkeypatch.setenv("LADE_CHAT_SETTINGS", str(file))
    file.write_text(f"a = {DEEP[199_000:-199_000]}\n")
    assert main(["ask", "Hi"]) == 0
    assert "not TOML" in one_line(capsys)
    assert main(["settings", "debug=true"]) == 1
    assert "not TOML" in capsys.readouterr().err


# --- flags and files ----------------------------------------------------------------------------------------------


def test_a_bare_text_has_no_system_message(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (["ask", "Hi", "--raw", "--system", "Be brief."], ["--system", "Be brief.", "ask", "Hi", "--raw"]):
        assert main(arguments) == 2
        assert "--system" in one_line(capsys)
    (tmp_path / "settings.toml").write_text('system = "Be brief."\n')
    monkeypatch.setenv("LADE_CHAT_SETTINGS", str(tmp_path / "settings.toml"))
    assert main(["ask", "Hi", "--raw"]) == 0
    assert [message.role for message in engine.asked[0].messages] == ["user"]


@posix
def test_a_named_pipe_is_called_what_it_is(
    engine: ScriptedEngine,  # noqa: F811
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert main(["ask", f"Sum up @{tmp_path / 'pipe.txt'}"]) == 1
    assert "is a pipe or a device" in one_line(capsys)
    assert engine.asked == []


@pytest.mark.parametrize(
    ("value", "dtype", "told"),
    [
        (float("nan"), "float32", "its weights contain NaN. Download it again, or take another model."),
        (float("inf"), "float16", "too large for float16. Download it again, or try --dtype float32."),
        (float("inf"), "float32", "too large for float32. Download it again, or try --dtype float64."),
    ],
)
def test_weights_that_are_no_numbers_are_told_when_they_are_loaded(
    value: float, dtype: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_qwen2(tmp_path / "model")
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = torch.full_like(weights["model.norm.weight"], value)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    capsys.readouterr()
    assert main(["ask", "Hi", "--no-save", "--dtype", dtype, "--model-path", str(folder)]) == 1
    assert one_line(capsys).rstrip().endswith(told)


@pytest.mark.parametrize("path", ["a" * 5000, "./" + "a/" * 3000, "a\0b"])
def test_a_path_that_no_file_can_have_is_a_line(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "Hi", "--no-save", "--model-path", path]) == 1
    assert len(one_line(capsys)) < 300


@pytest.mark.parametrize("arguments", [["demo", "--record"], ["ask", "Hi", "--export"]])
def test_a_file_of_no_known_format_is_wrong_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "x.doc"]) == 2
    assert "x.doc" in one_line(capsys)


@pytest.mark.parametrize("arguments", [["bench", "--fixed", "99999999,5,7"], ["tune", "--sweep", "-W", "99999999"]])
def test_a_window_beyond_the_context_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    short = ["--suites", "code", "--limit", "1"] if arguments[0] == "bench" else []
    assert main([*arguments, *short]) == 1
    assert "choose a smaller W" in one_line(capsys)


def test_an_empty_host_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", "--host", " ", "--port", "0"]) == 2
    assert "--host" in one_line(capsys)


# --- streams and signals ------------------------------------------------------------------------------------------

ASKING = """
import sys
from lade_chat.cli.running import engine_run
from tests.engines import echoing
engine_run.make_engine = lambda options: echoing()
from lade_chat.cli.app import main
"""


@posix
def test_with_stdout_closed_nothing_is_done_in_silence() -> None:
    commands = (["ask", "Hi", "--no-save"], ["settings"], ["web", "--port", "0"], ["bench"])
    one_by_one = f"{ASKING}print([main(each) for each in {commands!r}], file=sys.stderr)"
    *errors, codes = run(one_by_one, ">&- </dev/null").stderr.splitlines()
    assert codes == str([1] * len(commands))
    assert [error[:33] for error in errors] == ["error: standard output is closed:"] * len(commands)


@posix
def test_what_needs_no_stdout_does_without(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("one\n")
    arguments = ["ask", "--batch", str(tmp_path / "prompts"), "-o", str(tmp_path / "answers")]
    finished = run(f"{ASKING}sys.exit(main({arguments}))", ">&- 2>&- <&-")
    assert finished.returncode == 0
    assert json.loads((tmp_path / "answers").read_text())["text"] == "ONE"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["ask", "Hi", "--no-save"]
    for unbuffered in ("", "1"):
        monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
        finished = run(f"{ASKING}sys.exit(main({arguments}))", ">/dev/full </dev/null")
        told = "error: the output cannot be written: No space left on device.\n"
        assert (finished.returncode, finished.stderr) == (1, told)
    finished = run(f"{ASKING}sys.exit(main({[*arguments, '--debug']}))", "2>/dev/full </dev/null")
    assert (finished.returncode, finished.stdout) == (0, "HI\n")


@posix
@pytest.mark.parametrize(
    ("how", "moments"),
    [
        (["-m", "lade_chat"], (0.0, 0.1, 0.4)),
        (["-c", "import sys; from lade_chat.__main__ import main; sys.exit(main())"], (0.1,)),
    ],
)
def test_ctrl_c_at_the_start_shows_no_traceback(how: list[str], moments: Sequence[float]) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for seconds in moments:
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", *how, "ask", "Hi", "--no-save"],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        told = []
        for line in process.stderr:  # from when our own code is the one that is imported
            told.append(line)
            if "click" in line or "typer" in line:
                break
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        _out, rest = process.communicate(timeout=60)
        told += [line for line in rest.splitlines() if not line.startswith("import time:")]
        assert "Traceback" not in "".join(told)
        assert process.returncode in (130, -signal.SIGINT)


@posix
def test_a_working_folder_that_is_gone_is_a_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"""
import os, sys
os.chdir({str(gone)!r})
os.rmdir({str(gone)!r})
from lade_chat.cli.app import main
sys.exit(main(["models"]))
"""
    finished = run(code, "")
    told = "error: The working folder cannot be used (No such file or directory): cd to another.\n"
    assert (finished.returncode, finished.stdout, finished.stderr) == (1, "", told)


INTERRUPTED_LOAD = """
import os, signal, sys
import torch
from lade_chat.engine.ranks import group


def load(*_arguments):
    numbers = torch.ones(100_000)
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        numbers.neg()


group.load = load
from lade_chat.__main__ import main
sys.exit(main())
"""


@posix
def test_ctrl_c_while_a_model_loads_ends_no_thread_within_torch() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_LOAD, "ask", "Hi", "--no-save"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (finished.returncode, finished.stdout) == (130, "")
    assert "terminate called" not in finished.stderr
    assert "Traceback" not in finished.stderr
