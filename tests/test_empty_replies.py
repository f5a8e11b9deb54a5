"""A reply without a text: ``ask`` says on stderr why there is nothing to read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lade_chat.cli.ask import run_ask
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.engine.job import Job
from lade_chat.protocol.events import Event, Loaded, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import (
    FinishReason,
    Message,
    ModelInfo,
    Piece,
    Statistics,
)
from tests.engines import ScriptedEngine

MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, True)


def told(texts: list[str], reason: FinishReason, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what ``ask --json`` says on stderr after a reply of these tokens."""
    statistics = Statistics(len(texts), len(texts), 1.0)
    pieces = tuple(Piece(text, "plain", step, step) for step, text in enumerate(texts))

    def load(_job: Job) -> Iterator[Event]:
        yield Loaded(MODEL)

    def answer(_job: Job) -> Iterator[Event]:
        yield ReplyStarted(prompt_tokens=9)
        yield Tokens(pieces, statistics)
        yield ReplyFinished(reason, statistics)

    with ScriptedEngine(answer, load):
        assert run_ask((Message("user", "Hi"),), SharedOptions(), as_json=True) == 0
    return capsys.readouterr().err


@pytest.mark.parametrize("reason", ["eos", "length"])
def test_tokens_without_a_text_are_a_warning(reason: FinishReason, capsys: pytest.CaptureFixture[str]) -> None:
    line = "warning: no text in the model's 3 tokens: special, unprintable or blank\n"
    assert told(["", "\n", ""], reason, capsys) == line


def test_an_end_at_once_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert told([""], "eos", capsys) == "warning: the model ended at once, without a word\n"


def test_a_stop_string_before_any_text_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["\n", ""], "stop", capsys) == "warning: no text: a stop string came first\n"


@pytest.mark.parametrize(("texts", "reason"), [(["", "a"], "eos"), (["a", ""], "length"), (["a", ""], "stop")])
def test_a_text_needs_none(texts: list[str], reason: FinishReason, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(texts, reason, capsys) == ""
