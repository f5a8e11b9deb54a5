"""A benchmark in a pipe or a log: how far it is, what is there already, and what is left when Ctrl+C ends it."""

from __future__ import annotations

import json
import os
import signal
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from checkpoints import make_qwen2

from decoding.parallel import RankLostError
from lade_chat.bench import benchmark
from lade_chat.bench.results.measurements import MethodRun
from lade_chat.cli.app import main


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    model = make_qwen2(tmp_path_factory.mktemp("model") / "tiny")
    short = ["--max-new-tokens", "6", "--repeats", "2", "--dtype", "float32", "--limit", "2", "--suites", "code,math"]
    return ["bench", "--model-path", str(model), "--methods", "lookahead", *short]


def press_ctrl_c() -> None:
    raise KeyboardInterrupt


def break_off(monkeypatch: pytest.MonkeyPatch, after: int, interrupt: Callable[[], None] = press_ctrl_c) -> None:
    """Ctrl+C, or what else interrupts, after so many replies."""
    whole = benchmark.measure

    def measure(*given: Any, **settings: Any) -> Iterator[MethodRun]:
        for number, run in enumerate(whole(*given, **settings)):
            if number == after:
                interrupt()
            yield run

    monkeypatch.setattr(benchmark, "measure", measure)


def test_in_a_pipe_each_suite_is_told_as_soon_as_it_is_measured(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.bench.benchmark.MIN_LINE_SECONDS", 0.0)
    assert main(command) == 0
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    rows = [line for line in lines if "tok/s" in line]
    assert [row.split(" · ")[0] for row in rows] == ["code 1/2", "math 1/2", "code 2/2", "math 2/2"]
    told = [[part.rsplit(" ", 1)[0] for part in row.replace(" tok/s", "").split(" · ")[1:]] for row in rows]
    assert told == [["plain", "lookahead warm", "lookahead cold"]] * 4
    assert "24/24 · math: lookahead" in captured.err
    assert "\x1b" not in captured.err
    assert "INTERRUPTED" not in captured.out


@pytest.mark.parametrize(("after", "kept"), [(4, 3), (23, 21)])
def test_ctrl_c_leaves_what_was_measured(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, after: int, kept: int
) -> None:
    break_off(monkeypatch, after)
    assert main([*command, "--json"]) == 130
    result = json.loads(capsys.readouterr().out)
    assert result["broken_off"] == {"replies": kept, "total": 24}
    assert len(result["runs"]) == kept
    assert len(result["suites"]) == (1 if kept < 6 else 2)


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def terminate_in_a_callback() -> None:
    watched = weakref.ref(freed := Counter[str](), lambda _gone: signal.raise_signal(signal.SIGTERM))
    del freed
    assert watched() is None
    time.sleep(10)


@pytest.mark.parametrize(
    ("after", "kept", "interrupt"), [(4, 3, terminate), (2, 0, terminate), (4, 3, terminate_in_a_callback)]
)
def test_sigterm_leaves_what_was_measured_too(
    command: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    after: int,
    kept: int,
    interrupt: Callable[[], None],
) -> None:
    break_off(monkeypatch, after, interrupt)
    before = signal.getsignal(signal.SIGTERM)
    assert main([*command, "--json"]) == 143
    told = capsys.readouterr().out
    assert (json.loads(told)["broken_off"]["replies"] if told else 0) == kept
    assert signal.getsignal(signal.SIGTERM) is before


def lose_a_rank() -> None:
    raise RankLostError("the process of rank 1 is gone")


@pytest.mark.parametrize(("after", "kept"), [(2, 0), (23, 21)])
def test_a_lost_rank_is_an_error_in_one_line_behind_what_was_measured(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, after: int, kept: int
) -> None:
    break_off(monkeypatch, after, lose_a_rank)
    assert main([*command, "--json"]) == 1
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "error: the process of rank 1 is gone"
    assert (json.loads(out)["broken_off"]["replies"] if out else 0) == kept


def test_ctrl_c_before_the_first_prompt_was_answered_leaves_nothing(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_off(monkeypatch, 2)
    assert main(command) == 130
    assert capsys.readouterr().out == ""
    monkeypatch.undo()
    break_off(monkeypatch, 3)
    assert main(command) == 130
    assert "INTERRUPTED after 3 of 24 replies" in " ".join(capsys.readouterr().out.split())


def test_lines_come_now_and_then(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--json"]) == 0
    captured = capsys.readouterr()
    assert len(captured.err.splitlines()) < 12
    assert json.loads(captured.out)["broken_off"] is None
