"""`lade-chat explain`: mistakes, and what ends its screen, are told in a line."""

from __future__ import annotations

import pytest

from lade_chat.cli.app import main
from lade_chat.tui.explain.explain_app import ExplainApp


@pytest.mark.parametrize(
    ("arguments", "terminal", "code", "words"),
    [
        ([], False, 2, "explain needs a terminal"),
        (["--temperature", "0.5"], True, 2, "explain has no such flag"),
        (["--model-path", "/nowhere/at/all"], True, 1, "/nowhere/at/all"),
    ],
)
def test_mistakes_are_reported_in_one_line(
    arguments: list[str],
    terminal: bool,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if terminal:
        monkeypatch.setattr("lade_chat.cli.explain.require_terminal", lambda *_: None)
    assert main(["explain", *arguments]) == code
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1


def test_what_ends_the_screen_becomes_the_line_on_stderr(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(app: ExplainApp) -> None:
        app.trouble = "mamba: lookahead cannot serve this model"

    monkeypatch.setattr("lade_chat.cli.explain.require_terminal", lambda *_: None)
    monkeypatch.setattr(ExplainApp, "run", run)
    assert main(["explain"]) == 1
    assert capsys.readouterr().err == "error: mamba: lookahead cannot serve this model\n"
