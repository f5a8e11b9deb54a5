"""``ask`` and ``compare`` over a scripted engine: what reaches stdout, what stderr, and in which form."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial

import pytest

from lade_chat.cli import ask, compare
from lade_chat.cli.compare import SLOWER
from lade_chat.engine.job import Job
from lade_chat.errors import LadeChatError
from lade_chat.protocol.commands import Compare, Load
from lade_chat.protocol.events import (
    ComparisonFinished,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    Prefilling,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.values import (
    DecodingOptions,
    Difference,
    Message,
    ModelInfo,
    ModelOptions,
    Piece,
    Sizes,
    Statistics,
)
from tests.engines import ScriptedEngine, ending, say, sides

PIECES = (
    Piece("def ", "plain", 10, 0),
    Piece("f():\n", "trajectory", 11, 1),
    Piece("", "context", 12, 1),
    Piece("    é\x1b[2J", "successor", 13, 1),
    Piece(" end", "plain", 14, 1),
    Piece("", "plain", 2, 2),
)
TEXT = "def f():\n    é\x1b[2J end"
STATISTICS = Statistics(
    generated_tokens=6,
    steps=3,
    seconds=0.5,
    time_to_first_token=0.1,
    verified_tokens=3,
    prompt_tokens=9,
    lookahead=True,
    step_milliseconds=12.5,
    forward_tokens=36,
    pool_size=70,
    accepted_runs=(2, 0, 0, 1),
    plain_step_seconds=0.16,
)
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, True, notices=("roles are plain text",))
QUESTION = (Message("user", "Hello"),)
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def scripted(
    *, difference: Difference | None = None, failure: str | None = None, speedup: float = 1.5
) -> ScriptedEngine:
    """An engine that replies with ``PIECES``; a race has the same text on both sides unless a difference is given."""

    def answer(job: Job) -> Iterator[Event]:
        sys.stdout.write("a library prints\n")
        yield ReplyStarted(prompt_tokens=9)
        yield Prefilling(9, 9)
        for side in sides(job):
            yield Tokens(PIECES[:2], Statistics(), side=side)
            if failure is not None:
                yield Failed(failure)
                return
            yield Tokens(PIECES[2:], STATISTICS, side=side)
            yield ReplyFinished("eos", STATISTICS, side=side)
        if isinstance(job.command, Compare):
            yield ComparisonFinished(speedup, difference is None, difference)

    return ScriptedEngine(answer, load)


def load(job: Job) -> Iterator[Event]:
    assert isinstance(job.command, Load)
    sys.stdout.write("a library prints\n")
    yield Loading("weights", 1, 2)
    yield LoadFailed("no such model: nowhere") if job.command.options.path == "nowhere" else Loaded(MODEL)


def endless() -> ScriptedEngine:
    """An engine that goes on until it is stopped."""

    def answer(job: Job) -> Iterator[Event]:
        sys.stdout.write("a library prints\n")
        while not job.stopped:
            yield say("on ")
            time.sleep(0.002)
        yield ending(job, STATISTICS)

    return ScriptedEngine(answer, load)


def stopped(job: Job) -> Iterator[Event]:
    """Be stopped at once."""
    for side in sides(job):
        yield ReplyFinished("cancelled", STATISTICS, side=side)
    yield ComparisonFinished(1.5, True)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 256 colours and 100 by 30 cells, as the environment tells of it."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}.items():
        monkeypatch.setenv(name, value)


def on_terminal(run: Callable[[], int]) -> tuple[str, str]:
    """What a successful run shows on stdout and on stderr, both terminals."""
    with redirect_stdout(Terminal()) as out, redirect_stderr(Terminal()) as err:
        assert run() == 0
    return out.getvalue(), err.getvalue()


def run_ask(*, as_json: bool = False, debug: bool = False, engine: ScriptedEngine | None = None) -> int:
    options = DecodingOptions(debug=debug)
    return ask.run_ask(QUESTION, ModelOptions(), options, as_json=as_json, engine=engine or scripted())


def run_compare(*, as_json: bool = False, debug: bool = False, engine: ScriptedEngine | None = None) -> int:
    options = DecodingOptions(debug=debug)
    return compare.run_compare(QUESTION, ModelOptions(), options, as_json=as_json, engine=engine or scripted())


# --- ask ----------------------------------------------------------------------------------------------------------


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
    options = DecodingOptions(sizes=Sizes(4, 3, 2))
    assert ask.run_ask(QUESTION, ModelOptions(), options, as_json=True, engine=scripted()) == 0
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
    with pytest.raises(LadeChatError, match="no such model: nowhere"):
        ask.run_ask(QUESTION, ModelOptions(path="nowhere"), DecodingOptions(), engine=scripted())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("arguments", [["ask", "hello"], ["ask", "hello", "--json"]])
def test_ctrl_c_keeps_what_was_said(arguments: list[str]) -> None:
    code = f"""
import sys
from {__name__} import endless
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


# --- compare ------------------------------------------------------------------------------------------------------


def test_compare_json_has_both_sides(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert list(answer) == ["left", "right", "speedup", "identical", "difference"]
    assert answer["left"]["text"] == answer["right"]["text"] == TEXT
    assert (answer["speedup"], answer["identical"], answer["difference"]) == (1.5, True, None)


def test_compare_json_says_where_the_texts_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(as_json=True, engine=scripted(difference=Difference(3, "a", "b", 0.5, 4.0))) == 0
    answer = json.loads(capsys.readouterr().out)
    assert not answer["identical"]
    assert answer["difference"] == {"index": 3, "left": "a", "right": "b", "gap": 0.5, "ulps": 4.0}
    assert (answer["left"]["method"], answer["right"]["method"]) == ("lookahead", "plain")


def test_compare_in_a_pipe_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=scripted(difference=Difference(3, "a", "b", 0.5, 4.0))) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "--- lookahead auto"
    assert lines[3] == "--- plain decoding"
    assert "speed-up: 1.50x (lookahead auto is 1.50x as fast as plain decoding)" in lines
    (told,) = (line for line in lines if line.startswith("first difference at token 4: “a” left, “b” right"))
    assert "their logits are 0.5 apart, 4 units in the last place" in told


def test_compare_calls_sides_even_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=scripted(speedup=1.01)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "no speed-up: lookahead auto and plain decoding are even (1.01x)" in lines


@pytest.mark.usefixtures("xterm")
def test_details_break_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    _, err = on_terminal(partial(run_ask, debug=True))
    lines = err.splitlines()
    assert lines[-2:] == [
        "SUMMARY input 9 tokens · generated 6 tokens · time 0.50 s ·",
        "  throughput 12.0 tok/s · 3 steps · compression ratio 2.00",
    ]


@pytest.mark.usefixtures("xterm")
def test_compare_on_a_terminal_shows_two_panes() -> None:
    shown, _ = on_terminal(run_compare)
    assert SLOWER in shown
    final = ESCAPE.sub("", shown[shown.rindex("plain decoding  ") - 60 :])
    assert len(re.findall(r"def f\(\):", final)) == 2
    assert final.endswith("the texts are identical\n")
    assert "\x1b[2J" not in final


def test_compare_ended_by_ctrl_c_names_no_winner(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=ScriptedEngine(stopped, load)) == 130
    assert "no winner" in capsys.readouterr().out
