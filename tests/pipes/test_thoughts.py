"""A thought stays out of what is printed, written, stored as a document and drawn; only the answer is the answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lade_chat.cli.app import app
from lade_chat.engine.job import Job
from lade_chat.export.content import Content, Recording
from lade_chat.presentation.thought_splitter import AnswerStream, answer_of, nothing_said
from lade_chat.protocol.events import Event, ReplyFinished, Tokens
from lade_chat.protocol.values import ModelInfo, Piece, Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.store.conversation_documents import to_jsonl, to_markdown
from tests.engines import MAKE_ENGINE, ScriptedEngine, say
from tests.running import Terminal
from tests.store.replies import answer, tokens

THOUGHT, ANSWER = "Ada adds.", "Bo keeps `<think>` tags."
REPLY = f"<think>\n{THOUGHT}\n</think>\n\n{ANSWER}"
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, lookahead_supported=True)


@pytest.fixture(params=[1, 4, 1000])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngine:
    """It thinks before it answers; a reply comes in pieces of one size."""
    engine = ScriptedEngine(lambda job: _think(job, request.param))
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    return engine


def _pieces(size: int) -> tuple[Piece, ...]:
    starts = range(0, len(REPLY), size)
    return tuple(Piece(REPLY[start : start + size], "plain", 7, step) for step, start in enumerate(starts))


def _think(_job: Job, size: int) -> Iterator[Event]:
    for piece in _pieces(size):
        yield Tokens((piece,), Statistics(generated_tokens=piece.step + 1))
    yield ReplyFinished("eos", Statistics(generated_tokens=len(_pieces(size))))


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("flags", [(), ("--screen-reader",)])
def test_ask_prints_the_answer_alone(flags: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["ask", "Who keeps?", *flags])
    assert (result.exit_code, result.stdout) == (0, f"{ANSWER}\n")
    assert THOUGHT not in result.stderr


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_the_thought_goes_to_stderr_where_it_is_asked_for(flags: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["ask", "Who keeps?", "--show-thinking", *flags])
    assert result.stderr == f"{THOUGHT}\n\n"
    assert THOUGHT not in CliRunner().invoke(app, ["ask", "Who keeps?"]).stderr
    assert flags or result.stdout == f"{ANSWER}\n"


@pytest.mark.parametrize(("flags", "think"), [((), None), (("--think",), True), (("--no-think",), False)])
def test_the_flags_of_thinking_reach_the_engine(
    engine: ScriptedEngine, flags: tuple[str, ...], think: bool | None
) -> None:
    result = CliRunner().invoke(app, ["ask", "Who keeps?", *flags, "--max-thought-tokens", "9"])
    (asked,) = engine.asked
    assert (asked.options.think, asked.options.max_thought_tokens) == (think, 9)
    assert ("has no switch for thinking" in result.stderr) is bool(flags)


@pytest.mark.usefixtures("engine")
def test_on_a_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdout", shown)
    app(["ask", "Who keeps?"], standalone_mode=False)
    assert ANSWER in shown.getvalue()
    assert THOUGHT not in shown.getvalue()


@pytest.mark.usefixtures("engine")
def test_in_a_raw_text_nothing_is_a_thought(tmp_path: Path) -> None:
    page = tmp_path / "reply.html"
    result = CliRunner().invoke(app, ["ask", "Who keeps?", "--raw", "--show-thinking", "--export", str(page)])
    assert (result.stdout, result.stderr) == (f"{REPLY}\n", "")
    assert THOUGHT in page.read_text()
    told = json.loads(CliRunner().invoke(app, ["ask", "Who keeps?", "--raw", "--json"]).stdout)
    assert (told["text"], told["thought"]) == (REPLY, "")


def test_a_raw_text_that_begins_like_a_thought_is_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine(lambda job: iter((say("<think>Ada"), ReplyFinished("length", Statistics()))))
    monkeypatch.setattr(MAKE_ENGINE, lambda options: engine)
    for flags in (["ask", "Who?", "--raw"], ["ask", "--batch", "-", "--raw"]):
        result = CliRunner().invoke(app, flags, input="Who?" if "-" in flags else None)
        assert ("<think>Ada" in result.stdout, result.stderr) == (True, "")


@pytest.mark.usefixtures("engine")
def test_json_has_both(tmp_path: Path) -> None:
    told = json.loads(CliRunner().invoke(app, ["ask", "Who keeps?", "--json"]).stdout)
    assert (told["text"], told["thought"].strip()) == (ANSWER, THOUGHT)
    assert "".join(token["text"] for token in told["tokens"]) == REPLY
    (tmp_path / "prompts.txt").write_text("Who keeps?\n")
    (line,) = CliRunner().invoke(app, ["ask", "--batch", str(tmp_path / "prompts.txt")]).stdout.splitlines()
    assert (json.loads(line)["text"], json.loads(line)["thought"].strip()) == (ANSWER, THOUGHT)


def test_a_picture_and_a_document_show_the_answer(tmp_path: Path) -> None:
    recording = Recording()
    recording.take(Tokens(_pieces(3), Statistics(), step_seconds=tuple(range(40))))
    (side,) = Content("Who keeps?", MODEL, (recording,)).sides
    assert side.text == ANSWER
    assert (side.times, len(side.pieces)) == (recording.times, len(recording.pieces))
    conversation = Store(tmp_path / "store.db").begin(None)
    conversation.ask("Who keeps?")
    answer(conversation, REPLY)
    assert ANSWER in to_markdown(conversation)
    assert THOUGHT not in to_markdown(conversation)
    assert json.loads(list(to_jsonl(conversation))[1])["reply"] == REPLY


@pytest.mark.parametrize(
    ("behind", "answer"),
    [(" Bo", "Bo"), ("\n\n Bo", "Bo"), ("\n    x = 1", "    x = 1"), ("\n\n- Bo\n", "- Bo\n"), (" ", "")],
)
def test_an_answer_begins_without_the_blank_behind_a_thought(behind: str, answer: str) -> None:
    stream = AnswerStream()
    said = [
        *(piece for text in f"<think>Ada</think>{behind}" for piece in stream.push(tokens(text).pieces)),
        *stream.push((), final=True),
    ]
    assert "".join(piece.text for piece in said) == answer_of(f"<think>Ada</think>{behind}") == answer
    assert answer_of(behind) == behind


def test_a_reply_that_is_all_a_thought_says_so() -> None:
    assert nothing_said("<think>Ada", "length", 3) == "no answer: the model's 3 tokens are all a thought"
    assert not nothing_said(REPLY, "eos", 30)
    stream = AnswerStream()
    assert [piece.text for piece in stream.push(tokens("<think>Ada adds").pieces)] == []
    assert [piece.text for piece in stream.push((), final=True)] == ["", ""]
