"""The chat's own flags about conversations."""

from __future__ import annotations

import pytest

from lade_chat.cli.app import USAGE, main
from lade_chat.cli.flags.arguments import with_value_of_resume


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        (["--resume"], ["--resume="]),
        (["--resume", "--debug"], ["--resume=", "--debug"]),
        (["--resume", "fox"], ["--resume", "fox"]),
        (["--resume=fox"], ["--resume=fox"]),
        (["ask", "--", "--resume"], ["ask", "--", "--resume"]),
        (["--resume", "ask"], ["--resume", "ask"]),
        (["--resume", "ask", "Hello"], ["--resume=", "ask", "Hello"]),
    ],
)
def test_what_is_resumed_may_be_left_open(given: list[str], parsed: list[str]) -> None:
    assert with_value_of_resume(given, {"ask"}) == parsed


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--resume", "fox", "--continue"], "exclude one another"),
        (["--resume", "fox", "ask", "Hello"], "without a command"),
    ],
)
def test_flags_that_make_no_sense_together_are_refused(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == USAGE
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1
