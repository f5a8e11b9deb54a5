"""``ask`` over a scripted engine: what reaches stdout, what stderr, and in which form."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from lade_chat.cli import ask
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.errors import LadeChatError
from tests.asking import ESCAPE, PIECES, QUESTION, TEXT, on_terminal, run_ask, scripted, xterm  # noqa: F401


def test_in_a_pipe_stdout_is_the_models_text_and_one_line_break(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_ask() == 0
    captured = capsys.readouterr()
    assert captured.out == f"{TEXT}\n"
    assert captured.err.replace("a library prints\n", "") == "roles are plain text\n"


def test_json_is_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_ask(as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {
        "text": TEXT,
        "thought": "",
        "tokens": [{"id": piece.id, "text": piece.text, "origin": piece.origin} for piece in PIECES],
        "generated_tokens": 6,
        "thought_tokens": 0,
        "steps": 3,
        "tokens_per_step": 2.0,
        "seconds": 0.5,
        "tokens_per_second": 12.0,
        "verified_share": 0.5,
        "finish_reason": "eos",
        "dropped_messages": 0,
        "lookahead": True,
        "automatic": True,
        "window_size": None,
        "ngram_size": None,
        "guess_set_size": None,
        "seed": None,
        "sampling": None,
        "stop": [],
        "max_new_tokens": 1024,
        "think": None,
        "max_thought_tokens": None,
        "model": "scripted",
        "device": "cpu",
        "dtype": "float32",
    }
    assert "".join(token["text"] for token in answer["tokens"]) == answer["text"]


def test_json_tells_fixed_sizes_as_they_were_given(capsys: pytest.CaptureFixture[str]) -> None:
    options = SharedOptions(window_size=4, ngram_size=3, guess_set_size=2)
    with scripted():
        assert ask.run_ask(QUESTION, options, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert not answer["automatic"]
    assert (answer["window_size"], answer["ngram_size"], answer["guess_set_size"]) == (4, 3, 2)


@pytest.mark.usefixtures("xterm")
def test_on_a_terminal_verified_tokens_are_tinted_and_escapes_are_harmless() -> None:
    out, err = on_terminal(run_ask)
    assert ESCAPE.sub("", out) == "def f():\n    é␛[2J end\n"
    assert re.search(r"\x1b\[[0-9;]*48;5;\d+mf\(\):\x1b\[0m\n", out), "a background behind it, but not the line break"
    assert out.startswith("def ")
    assert "12.0 tok/s · 2.0 tokens/step · 50% verified" in err
    assert "loading the weights 50%" in err


@pytest.mark.usefixtures("xterm")
def test_the_status_keeps_to_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "46")
    _, err = on_terminal(run_ask)
    assert err.endswith("\x1b[K12.0 tok/s · 2.0 tokens/step · lookahead ON\n")


@pytest.mark.usefixtures("xterm")
def test_no_color_underlines_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out, _ = on_terminal(run_ask)
    assert set(ESCAPE.findall(out)) == {"4", "0"}


@pytest.mark.usefixtures("xterm")
def test_a_terminal_without_capabilities_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    out, err = on_terminal(run_ask)
    assert out == "def f():\n    é␛[2J end\n"
    assert "\x1b" not in err


def test_debug_prints_the_figures_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_ask(debug=True) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{TEXT}\n"
    assert "speed-up over plain  2.00x" in captured.err
    assert "0: 2  3: 1" in captured.err
    assert "window (W × N)       no window" in captured.err
    assert captured.err.splitlines()[-1] == (
        "SUMMARY input 9 tokens · generated 6 tokens · time 0.50 s · throughput 12.0 tok/s · 3 steps"
        " · compression ratio 2.00"
    )


def test_a_failure_keeps_what_was_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LadeChatError, match="out of memory"):
        run_ask(engine=scripted(failure="out of memory"))
    assert capsys.readouterr().out == "def f():\n"


def test_a_model_that_does_not_load(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted(), pytest.raises(LadeChatError, match="no such model: nowhere"):
        ask.run_ask(QUESTION, SharedOptions(model_path="nowhere"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["ask", "hello"], ["ask", "hello", "--json"]])
def test_ctrl_c_keeps_what_was_said(arguments: list[str]) -> None:
    code = f"""
import sys
from tests.asking import endless
from lade_chat.cli.running import engine_run
engine_run.make_engine = lambda options: endless()
from lade_chat.cli.app import main
sys.stderr.write("begin\\n")
sys.exit(main({arguments!r}))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    # The notice comes with the loaded model.
    assert any("roles are plain text" in line for line in process.stderr), "it ended before it loaded"
    assert "a library prints" in process.stderr.readline(), "the reply has begun"
    said = "" if "--json" in arguments else process.stdout.read(3)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    said += out
    assert process.returncode == 130
    assert "Traceback" not in err
    if "--json" in arguments:
        answer = json.loads(said)
        assert answer["finish_reason"] == "cancelled"
        said = answer["text"]
    assert said
    assert said.removesuffix("\n") == "on " * (len(said) // 3)


@pytest.mark.usefixtures("xterm")
def test_details_break_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, err = on_terminal(partial(run_ask, debug=True))
    lines = err.splitlines()
    assert lines[-2:] == [
        "SUMMARY input 9 tokens · generated 6 tokens · time 0.50 s ·",
        "  throughput 12.0 tok/s · 3 steps · compression ratio 2.00",
    ]
