"""Pipes: what is asked from where, plain lines, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from lade_chat import paths
from lade_chat.cli.app import main
from lade_chat.store.all_conversations import Store
from tests.engines import ScriptedEngine
from tests.running import Terminal, pipe_in, python

# --- what is asked ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "piped", "question"),
    [
        (["Sum up:"], b"one\ntwo\n\n", "Sum up:\n\none\ntwo"),
        (["Sum up:"], b" \n", "Sum up:"),
        (["Sum up:", "--raw"], b"one\n", "Sum up:\n\none\n"),
        (["-"], b"one\r\n", "one"),
        (["-"], b"\xef\xbb\xbfone\r\n", "one"),
        (["-"], b"one\r\ntwo\r\n", "one\ntwo"),
        ([], "é".encode() + b"\xff", "é\ufffd"),
        (["-"], b"see @no/such.txt", "see @no/such.txt"),
        (["see @no/such.txt", "--raw"], b"", "see @no/such.txt"),
    ],
)
def test_what_comes_through_a_pipe_follows_the_prompt(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, arguments: list[str], piped: bytes, question: str
) -> None:
    pipe_in(monkeypatch, piped)
    assert main(["ask", *arguments]) == 0
    assert engine.asked[0].messages[-1].content == question


def test_what_is_no_text_in_a_pipe_is_told(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pipe_in(monkeypatch, b"ab\xffcd\xfe")
    assert main(["ask"]) == 0
    captured = capsys.readouterr()
    assert "byte 2" in captured.err
    assert "2 places" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_another_encoding_is_refused_from_a_pipe_as_from_a_file(
    engine: ScriptedEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    encoding: str,
) -> None:
    text = "Say something.\n".encode(encoding)
    (tmp_path / "notes.txt").write_bytes(text)
    for arguments in (["Sum up:"], ["--raw"], ["--batch", "-"], [f"Sum up @{tmp_path / 'notes.txt'}"]):
        pipe_in(monkeypatch, text)
        assert main(["ask", *arguments]) == 1
        told = capsys.readouterr().err
        assert told.startswith("error: ")
        assert "UTF-8" in told
        assert told.count("\n") == 1
    assert not engine.asked


def test_what_is_no_text_in_an_argument_is_told(engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "caf\udce9, please"]) == 0  # as Python reads Latin-1 from the command line
    assert engine.asked[0].messages[-1].content == "caf\ufffd, please"
    assert capsys.readouterr().err == "warning: the prompt is not UTF-8: 1 place in it read as \ufffd\n"


def test_a_pipe_without_end_is_left(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(paths, "MAX_STREAM_BYTES", 2_000)
    pipe_in(monkeypatch, b"y\n" * 1_001)
    assert main(["ask", "Sum up"]) == 1
    assert capsys.readouterr().err.startswith("error: The piped text is longer than 2.0 kB")
    assert not engine.asked


def test_a_file_that_is_mentioned_is_attached(engine: ScriptedEngine, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\n")
    assert main(["ask", f"Sum up @{tmp_path / 'notes.txt'}"]) == 0
    assert engine.asked[0].messages[-1].content.endswith("notes.txt:\n```\none\n```")


def test_a_file_that_is_not_there_is_one_line(engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "Sum up @no/such.txt"]) == 1
    assert capsys.readouterr().err.startswith("error: There is no file no/such.txt.")
    assert engine.asked == []


def test_a_pipe_that_stays_silent_is_told_of() -> None:
    code = """
import os, sys
import lade_chat.cli.running.prompt_input as prompts
prompts.NOTICE_SECONDS = 0.05
read, write = os.pipe()
os.dup2(read, 0)
import threading
threading.Timer(0.6, lambda: os.close(write)).start()
print(prompts.read_prompt("Hello", raw=False))
"""
    finished = python(code)
    assert finished.stdout == "Hello\n"
    assert "reading standard input" in finished.stderr


# --- conversations ------------------------------------------------------------------------------------------------


def test_the_chats_own_flags_count_before_ask_too(engine: ScriptedEngine, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    assert main(["--data-dir", str(folder), "ask", "one"]) == 0
    assert main(["--data-dir", str(folder), "--continue", "ask", "two"]) == 0
    assert len(engine.asked[1].messages) == 3
    assert len(Store(folder).page()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "x", "-c", "--raw"],
        ["ask", "x", "-c", "--no-save"],
        ["ask", "x", "--output", "f"],
        ["ask", "x", "--batch", "f"],
        ["ask", "--batch", "f", "--continue"],
    ],
)
def test_flags_that_do_not_go_together(engine: ScriptedEngine, arguments: list[str]) -> None:
    assert main(arguments) == 2
    assert engine.asked == []


# --- plain lines --------------------------------------------------------------------------------------------------


def test_plain_output_has_no_escapes_and_redraws_nothing(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LADE_CHAT_SCREEN_READER", "1")
    with redirect_stdout(Terminal()) as out, redirect_stderr(Terminal()) as err:
        assert main(["ask", "one\ntwo", "--no-save"]) == 0
    assert out.getvalue() == "ONE\nTWO\n"
    for sign in ("\x1b", "\r", "·", "tok/s"):
        assert sign not in err.getvalue()
    assert "tokens per second" in err.getvalue()


def test_plain_output_in_a_pipe_is_the_models_text_and_one_line_break(
    engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", "one\ntwo", "--screen-reader", "--no-save"]) == 0
    assert capsys.readouterr().out == "ONE\nTWO\n"


# --- the process --------------------------------------------------------------------------------------------------


def asking(*arguments: str) -> subprocess.Popen[bytes]:
    """``lade-chat ask`` in a process whose engine echoes."""
    code = f"""
import sys
sys.path[:] = {sys.path!r}
from lade_chat.cli.running import engine_run
from tests.engines import echoing
engine_run.make_engine = lambda options: echoing()
from lade_chat.cli.app import main
sys.exit(main({["ask", *arguments]!r}))
"""
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def test_a_reply_whose_reader_left_is_kept_as_broken_off(data: Path) -> None:
    child = asking("one")
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    assert child.communicate(timeout=60)[1] == b""
    assert child.returncode == 141
    latest = Store(data).latest()
    assert latest is not None
    assert latest.last is not None
    assert (latest.last.reply, latest.last.ending, latest.last.error) == ("ONE", "cancelled", "")


def test_a_terminal_without_a_cursor_is_pointed_to_ask(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for name in ("stdin", "stdout", "__stdout__"):
        monkeypatch.setattr(sys, name, Terminal())
    for arguments in ([], ["explain"]):
        monkeypatch.setattr(sys, "stderr", errors := Terminal())
        assert main(arguments) == 2
        assert errors.getvalue().count("\n") == 1
        assert "lade-chat ask PROMPT" in errors.getvalue()


def test_head_ends_a_long_batch_quietly() -> None:
    child = asking("--batch", "-")
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdin.write(b"one\n" * 5000)
    child.stdin.close()
    assert json.loads(child.stdout.readline())["text"] == "ONE"
    child.stdout.close()
    assert child.wait(60) == 141
    assert child.stderr.read() == b""
    child.stderr.close()
