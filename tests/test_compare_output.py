"""``compare`` over a scripted engine: what reaches stdout, what stderr, and in which form."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest

from lade_chat.cli.running.comparison_lines import SLOWER
from lade_chat.protocol.values import Difference
from tests.asking import ESCAPE, TEXT, load, on_terminal, run_compare, scripted, stopped, xterm  # noqa: F401
from tests.engines import ScriptedEngine


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


def test_a_stopped_race_has_no_result_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(as_json=True, engine=ScriptedEngine(stopped)) == 130
    answer = json.loads(capsys.readouterr().out)
    assert answer["right"]["finish_reason"] == "cancelled"
    assert (answer["speedup"], answer["identical"], answer["difference"]) == (None, None, None)


def test_compare_in_a_pipe_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=scripted(difference=Difference(3, "a", "b", 0.5, 4.0))) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "--- lookahead auto"
    assert lines[3] == "--- plain decoding"
    assert "speed-up: 1.50x (lookahead auto is 1.50x as fast as plain decoding)" in lines
    (told,) = (line for line in lines if line.startswith("first difference at token 4: “a” left, “b” right"))
    assert "; their logits are 0.5 apart: one is 65 % likelier than the other (" in told


def test_compare_calls_sides_even_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=scripted(speedup=1.01)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "no speed-up: lookahead auto and plain decoding are even (1.01x)" in lines


def test_a_terminal_obeys_nothing_in_the_texts_that_a_screen_reader_is_given() -> None:
    shown, _ = on_terminal(partial(run_compare, screen_reader=True))
    assert shown.count("    é␛[2J end\n") == 2
    assert "\x1b" not in shown


@pytest.mark.usefixtures("xterm")
def test_compare_on_a_terminal_shows_two_panes() -> None:
    shown, _ = on_terminal(run_compare)
    assert SLOWER in shown
    final = ESCAPE.sub("", shown[shown.rindex("plain decoding  ") - 60 :])
    assert len(re.findall(r"def f\(\):", final)) == 2
    assert final.endswith("the texts are identical\n")
    assert "\x1b[2J" not in final


def test_compare_ended_by_ctrl_c_names_no_winner_and_tells_who_led(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compare(engine=ScriptedEngine(stopped, load)) == 130
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == ["stopped before the end, so there is no winner", "plain decoding led by 1 token"]
