"""Wrong usage, and errors, are one line each."""

from __future__ import annotations

import signal
import sys
import time
import weakref

import pytest

from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError
from tests.engines import MAKE_ENGINE, ScriptedEngine
from tests.running import pipe_in


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["ask", "x", "-W", "-1"], "--window-size"),
        (["ask", "x", "--ngram-size", "1"], "--ngram-size"),
        (["compare", "x", "-G", "-2"], "--guess-set-size"),
        (["ask", "x", "--max-new-tokens", "0"], "--max-new-tokens"),
        (["-N", "1"], "--ngram-size"),
        (["ask", "x", "-W", "many"], "--window-size"),
        (["ask", ""], "the prompt is empty"),
        (["compare", " \n"], "the prompt is empty"),
        (["--bogus"], "--bogus"),
        (["What is 2?"], "No such command 'What is 2?'; to ask a question: lade-chat ask PROMPT (see"),
        (["aks", "x"], "Did you mean 'ask'?"),
        (["--foo"], "no flag --foo (see"),
        (["ask", "-3 plus 5"], "no flag -3; a prompt that begins with a dash stands behind -- (see"),
        (["ask", "x", "--tempratur", "1"], "did you mean --temperature?"),
        (["ask", "x", "--dat", "y"], "did you mean --data-dir?"),
        (["ask", "x", "--theme", "y"], "--theme is for the chat itself"),
        (["compare", "--suites", ","], "--suites: ',' names nothing: leave --suites out for the default"),
        (["bench", "-W", "3"], "-W is for the chat itself and for ask, compare, tune, settings, web: bench has no"),
        (["--theme", "nord", "ask", "x"], "--theme is for the chat itself"),
        (["--resume", "ask", "x"], "--resume is for the chat itself"),
        (["--continue", "compare", "x"], "--continue is for the chat itself"),
        (["--json", "ask", "x"], "goes after one of these commands"),
        (["ask", "x", "--export", "x.foo"], "x.foo"),
        (["ask", "x", "--top-k", "-1"], "must be a whole number of at least 0, not -1"),
        (["ask", "x", "--max-new-tokens", "9" * 20], "must be a whole number from 1 to 1000000, not 9999"),
        (["ask", "x", "--temperature", "-1"], "must be a number of at least 0, not -1"),
        (["ask", "x", "--top-p", "nan"], "not nan"),
        (["ask", "x", "--seed", "x"], "must be a whole number from 0 to 2⁶⁴ - 1, not x"),
        (["web", "--port", "65536"], "must be a whole number from 0 to 65535, not 65536"),
        (["ask", "x", "--lookahead-workers", "4097"], "error: --lookahead-workers: must be a whole number from 1 to "),
        (
            ["ask", "x", "--dtype", "bogus"],
            "Unknown dtype 'bogus'. Choose auto, float32, bfloat16, float16, float64 or int8 (see",
        ),
        (["ask", "x", "--device", "foo"], "Unknown device 'foo'. Choose cpu, cuda, cuda:N or mps (see"),
        (["ask", "x", "--quantize", "int4"], "--quantize knows only int8 (see"),
        (["ask", "x", "y"], "(y): a prompt of several words needs quotes"),
        (["manual", "keys", "models"], "(models) (see lade-chat manual --help)"),
        (["ask", "x", "--data-dir", ""], "error: --data-dir: the path is empty (see"),
        (["ask", "x", "--data-dir", __file__], "test_refusals.py is a file, not a folder"),
        (["ask", "x", "--export"], "requires an argument (see lade-chat ask --help)"),
        (["ask", "x", "--sampling", "best"], "error: --sampling: 'best' is not one of 'greedy', 'model' (see"),
        (["settings", "bogus"], "error: there is no setting bogus (see"),
        (["bench", "--engines", "bogus"], "error: --engines: no engine 'bogus'"),
    ],
)
def test_wrong_usage_is_one_line(
    engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    assert engine.commands == []


@pytest.mark.parametrize("arguments", [["x " * 5_000], ["ask", *"x" * 5_000]])
def test_a_whole_file_as_an_argument_does_not_hide_what_to_do(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capsys.readouterr().err
    assert len(told) < 700
    assert told.startswith(("error: No such command 'x", "error: Got unexpected extra argument(s) (x"))
    assert "ask a question: lade-chat ask PROMPT (see" in told or "needs quotes (see" in told


def test_an_empty_pipe_is_an_empty_prompt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b"\n")
    assert main(["ask"]) == 2
    assert "the prompt is empty" in capsys.readouterr().err


def test_without_a_terminal_the_chat_points_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "lade-chat ask" in capsys.readouterr().err


def test_a_redirected_stderr_is_told_as_that(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    assert main([]) == 2
    assert "standard error, which is redirected" in capsys.readouterr().err


def test_an_error_of_ours_is_its_own_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MAKE_ENGINE, raising(LadeChatError("no such folder: x\x1b[2J")))
    assert main(["ask", "Hello"]) == 1
    assert capsys.readouterr().err == "error: no such folder: x␛[2J\n"


def test_any_other_error_is_one_line_and_says_how_to_see_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MAKE_ENGINE, raising(ValueError("first\nsecond")))
    assert main(["ask", "Hello"]) == 1
    assert capsys.readouterr().err == "error: ValueError: first (LADE_CHAT_TRACEBACK=1 shows where)\n"
    monkeypatch.setenv("LADE_CHAT_TRACEBACK", "1")
    with pytest.raises(ValueError, match="second"):
        main(["ask", "Hello"])


def test_ctrl_c_where_nothing_can_catch_it_comes_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def make(_options: object) -> None:
        watched = weakref.ref(freed := ScriptedEngine(), lambda _gone: signal.raise_signal(signal.SIGINT))
        del freed
        assert watched() is None
        time.sleep(10)

    monkeypatch.setattr(MAKE_ENGINE, make)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["ask", "Hello"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "Traceback" not in capfd.readouterr().err


def test_interrupted_before_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MAKE_ENGINE, raising(KeyboardInterrupt()))
    assert main(["ask", "Hello"]) == 130


def raising(error: BaseException) -> object:
    def make(_options: object) -> None:
        raise error

    return make
