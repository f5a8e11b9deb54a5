"""`lade-chat compare`: who races whom, and races over suites of prompts with their score, on a scripted engine."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Event, ReplyFinished
from lade_chat.protocol.values import Difference, Message, MethodSpec, Side, Sizes, Statistics
from lade_chat.suites.prompts import bundled_suites
from tests.engines import MAKE_ENGINE, ScriptedEngine, say

SECONDS: dict[Side, float] = {"left": 1.0, "right": 2.0}


class Races:
    """The left side takes a second and the right one two; the third race's texts differ, one may be stopped."""

    def __init__(self) -> None:
        self.asked: list[Compare] = []
        self.stops_at: int | None = None
        self.same_steps = False

    def __call__(self, job: Job) -> Iterator[Event]:
        assert isinstance(job.command, Compare)
        self.asked.append(job.command)
        reason = "cancelled" if len(self.asked) == self.stops_at else "eos"
        for side, seconds in SECONDS.items():
            method = job.command.left if side == "left" else job.command.right
            steps = 10 if side == "right" or self.same_steps else 5
            figures = Statistics(generated_tokens=10, steps=steps, seconds=seconds, method=method)
            yield say("hi", figures, side)
            yield ReplyFinished(reason, figures, side)
        same = len(self.asked) != 3
        yield ComparisonFinished(2.0, same, None if same else Difference(4, "a", "b", 0.25, 2.0))


@pytest.fixture(autouse=True)
def races(monkeypatch: pytest.MonkeyPatch) -> Races:
    races = Races()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    monkeypatch.setattr(MAKE_ENGINE, lambda options: ScriptedEngine(races))
    return races


@pytest.mark.parametrize(
    ("arguments", "left", "right"),
    [
        ([], MethodSpec("lookahead"), MethodSpec("plain")),
        (["-W", "9"], MethodSpec("lookahead-fixed", Sizes(9, 5, 7)), MethodSpec("plain")),
        (
            ["--left", "15,5,10", "--right", "jacobi"],
            MethodSpec("lookahead-fixed", Sizes(15, 5, 10)),
            MethodSpec("jacobi"),
        ),
        (["--right", "hf-prompt-lookup-10"], MethodSpec("lookahead"), MethodSpec("hf-prompt-lookup-10")),
    ],
)
def test_who_races_whom(races: Races, arguments: list[str], left: MethodSpec, right: MethodSpec) -> None:
    assert main(["compare", "Hello", *arguments]) == 0
    (race,) = races.asked
    assert (race.left, race.right, race.fresh) == (left, right, False)


def test_a_suite_is_raced_over_with_a_line_a_race_and_the_score(
    races: Races, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--suites", "code,math", "--limit", "2", "--system", "Be brief."]) == 0
    suites = {suite.name: suite.questions for suite in bundled_suites()}
    asked = [question.turns[0] for name in ("code", "math") for question in suites[name][:2]]
    assert [race.messages for race in races.asked] == [
        (Message("system", "Be brief."), Message("user", question)) for question in asked
    ]
    assert all(race.fresh for race in races.asked)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 4 + 1 + 3
    assert lines[0] == "left: lookahead auto · right: plain decoding"
    assert lines[1].split() == ["suite", "prompt", "left", "right", "tok/s", "speed-up"]
    assert [line.split()[0] for line in lines[2:5]] == ["code", "code", "math"]
    assert all("10.0     5.0 tok/s     2.00x" in line for line in lines[2:5])
    assert {len(line) for line in lines[1:5]} == {78}
    assert "first difference at token 5: “a” left, “b” right" in lines[5]
    assert lines[-3:] == [
        "lookahead auto is 2.00x as fast as plain decoding, over 4 races",
        "won by lookahead auto: 4 · by plain decoding: 0 · even: 0",
        "time: 4.00 s and 8.00 s · identical texts: 3 of 4",
    ]


@pytest.mark.usefixtures("races")
def test_what_a_file_holds_commands_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"prompt": "\x1b[2Jquestion", "category": "\x1b]0;title\x07\nkind"}))
    assert main(["compare", "--prompts", str(path)]) == 0
    told = capsys.readouterr().out
    assert "␛]0;title␇ kind ␛[2Jquestion" in told
    assert "\x1b" not in told


def test_sides_that_took_the_same_steps_are_even_in_every_line(
    races: Races, capsys: pytest.CaptureFixture[str]
) -> None:
    races.same_steps = True
    assert main(["compare", "--suites", "code", "--limit", "2"]) == 0
    _sides, _heading, *raced, outcome, won, _time = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in raced if line.startswith("code")] == ["even", "even"]
    assert outcome == "lookahead auto and plain decoding are even, over 2 races"
    assert won == "won by lookahead auto: 0 · by plain decoding: 0 · even: 2"


def test_a_suite_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "mine.txt"
    prompts.write_text("One?\nTwo?\n")
    assert main(["compare", "--prompts", str(prompts), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [(race["suite"], race["prompt"], race["speedup"]) for race in answer["races"]] == [
        ("mine", "One?", 2.0),
        ("mine", "Two?", 2.0),
    ]
    assert answer["races"][0]["left"]["text"] == "hi"
    assert answer["score"]["left_wins"] == answer["score"]["races"] == 2
    assert answer["score"]["speedup"] == 2.0


def test_a_suite_that_is_interrupted_keeps_its_score(races: Races, capsys: pytest.CaptureFixture[str]) -> None:
    races.stops_at = 2
    assert main(["compare", "--suites", "lists"]) == 130
    assert len(races.asked) == 2
    assert "over 1 race\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Hello", "--left", "medusa"], "There is no method 'medusa'"),
        (["Hello", "--right", "7,1,7"], "too short"),
        (["--suites", "poems"], "There is no suite 'poems'"),
        (["Hello", "--suites", "code"], "not both"),
        (["Hello", "--limit", "3"], "--limit is for"),
        (["--suites", "code", "--export", "race.svg"], "--export is for a single prompt"),
        (["--prompts", "nowhere.txt"], "nowhere.txt"),
    ],
)
def test_mistakes_are_told_in_one_line(
    races: Races, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(["compare", *arguments]) in (1, 2)
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert not races.asked
