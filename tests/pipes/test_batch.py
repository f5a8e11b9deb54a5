"""Batches: every prompt answered in order, each on disk before the next, and gone on with after a stop."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.cli.running.batch import read_batch, run_batch
from lade_chat.engine.job import Job
from lade_chat.errors import LadeChatError
from lade_chat.protocol.events import Event
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from tests.echoing import records
from tests.engines import ScriptedEngine, echo, echoing
from tests.running import Terminal, pipe_in

PROMPTS = (
    'one\n\n{"prompt": "two", "id": 7, "system": "S"}\n{"messages": [{"role": "user", "content": "three\\nlines"}]}\n'
)


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    path.write_text(PROMPTS, encoding="utf-8")
    return path


def test_every_line_is_answered_in_order(engine: ScriptedEngine, prompts: Path, tmp_path: Path, data: Path) -> None:
    output = tmp_path / "answers.jsonl"
    assert main(["ask", "--batch", str(prompts), "--output", str(output), "--system", "Default."]) == 0
    told = records(output)
    assert [(each["line"], each.get("id"), each["prompt"], each["text"]) for each in told] == [
        (1, None, "one", "ONE"),
        (3, 7, "two", "TWO"),
        (4, None, "three\nlines", "THREE\nLINES"),
    ]
    assert [asked.messages[0].content for asked in engine.asked] == ["Default.", "S", "Default."]
    assert "tokens" not in told[0]
    assert not data.exists()


@pytest.mark.parametrize("output", [[], ["--output", "-"]])
def test_a_batch_from_a_pipe_goes_to_stdout(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], output: list[str]
) -> None:
    pipe_in(monkeypatch, b"one\\nmore\ntwo")
    assert main(["ask", "--batch", "-", "--json", *output]) == 0
    captured = capsys.readouterr()
    told = [json.loads(line) for line in captured.out.splitlines()]
    assert [each["prompt"] for each in told] == ["one\nmore", "two"]
    assert [token["origin"] for token in told[1]["tokens"]] == ["plain", "context"]
    assert captured.err == ""


@pytest.mark.parametrize(
    ("piped", "told"),
    [
        (b"\n", "standard input holds no prompt."),
        (b'one\n{"prompt": 3}', "standard input, line 2: "),
        (b"\xff", "standard input is not UTF-8 text (byte 0)."),
    ],
)
def test_what_is_wrong_with_a_piped_batch_names_the_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], piped: bytes, told: str
) -> None:
    pipe_in(monkeypatch, piped)
    assert main(["ask", "--batch", "-"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {told}")


@pytest.mark.parametrize("kept", [0, 1, 2, 3])
@pytest.mark.parametrize("torn", [0, 5, 100])
def test_what_is_there_is_not_asked_again(prompts: Path, tmp_path: Path, kept: int, torn: int) -> None:
    items, output = read_batch(prompts, None), tmp_path / "answers.jsonl"
    with echoing():
        assert run_batch(items, output, ModelOptions(), DecodingOptions()) == 0
    whole = output.read_bytes()
    lines = [*whole.splitlines(keepends=True), b""]
    output.write_bytes(b"".join(lines[:kept]) + lines[kept][:torn])
    with echoing() as again:
        assert run_batch(items, output, ModelOptions(), DecodingOptions()) == 0
    assert output.read_bytes() == whole
    assert len(again.asked) == 3 - kept


def test_each_answer_is_written_before_the_next_is_asked(prompts: Path, tmp_path: Path) -> None:
    output = tmp_path / "answers.jsonl"
    seen: list[int] = []

    def watch(job: Job) -> Iterator[Event]:
        seen.append(len(records(output)) if output.exists() else 0)
        yield from echo(job)

    with ScriptedEngine(watch):
        run_batch(read_batch(prompts, None), output, ModelOptions(), DecodingOptions())
    assert seen == [0, 1, 2]


def test_a_failure_is_a_line_and_exit_code_1(
    tmp_path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prompts").write_text("one\nfails\ntwo\n")
    output = tmp_path / "answers"
    assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(output)]) == 1
    told = records(output)
    assert [each.get("text") for each in told] == ["ONE", None, "TWO"]
    assert told[1]["error"] == "the prompt is too long"
    assert "1 of 3 prompts failed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("one\nsilent\n", "warning: 1 answer has no text (line 2): the model ended at once"),
        ("silent\nfails\nsilent\nsilent\nstopped", "warning: 3 answers have no text (lines 1, 3, 4): "),
        ("one\ncut\n", "warning: 1 answer has no text (line 2): the model ended at once, a stop string came first"),
        ("silent\n" * 12, "(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 …)"),
        ("one\nfails\n", ""),
    ],
)
def test_answers_without_a_text_are_told_at_the_end(
    tmp_path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str], asked: str, words: str
) -> None:
    (tmp_path / "prompts").write_text(asked)
    main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(tmp_path / "answers")])
    warnings = [line for line in capsys.readouterr().err.splitlines() if "no text" in line]
    assert len(warnings) == bool(words)
    assert not words or words in warnings[0]


def test_messages_that_no_longer_fit_are_told(
    tmp_path: Path, engine: ScriptedEngine, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prompts").write_text("one\nso long\n")
    main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(tmp_path / "answers")])
    told = capsys.readouterr().err
    assert "warning: the oldest messages no longer fit and were left out (line 2)\n" in told
    assert [each["dropped_messages"] for each in records(tmp_path / "answers")] == [0, 3]
    main(["ask", "--continue", "so long"])
    assert "warning: the oldest 3 messages no longer fit and were left out\n" in capsys.readouterr().err


def test_a_stopped_batch_goes_on_where_it_was(tmp_path: Path, engine: ScriptedEngine) -> None:
    (tmp_path / "prompts").write_text("one\nstopped\ntwo\n")
    output = tmp_path / "answers"
    assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(output)]) == 130
    assert [each["text"] for each in records(output)] == ["ONE"]


def test_answers_to_other_prompts_are_left_alone(tmp_path: Path, engine: ScriptedEngine) -> None:
    (tmp_path / "prompts").write_text("one\ntwo\n")
    output = tmp_path / "answers"
    for wrong in ('{"line": 1, "prompt": "other"}\n', "no JSON\n", '{"line": 1, "prompt": "one"}\n' * 3):
        output.write_text(wrong)
        assert main(["ask", "--batch", str(tmp_path / "prompts"), "-o", str(output)]) == 1
        assert output.read_text() == wrong
    assert engine.asked == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"prompt": 3}', "line 2"),
        ('{"question": "x"}', "either a prompt or messages"),
        ('{"prompt": "x", "messages": []}', "either a prompt or messages"),
        ('{"messages": [{"role": "boss", "content": "x"}]}', "line 2"),
        ('{"messages": []}', "the prompt is empty"),
        (
            '{"prompt": "x", "max_tokens": 5}',
            r"line 2: there is no key 'max_tokens' \(known are prompt, messages, system, id\)",
        ),
        ('{"prompt": ', "not JSON"),
    ],
)
def test_a_line_that_is_wrong_is_named_before_anything_is_asked(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "prompts"
    path.write_text(f"one\n{line}\n")
    with pytest.raises(LadeChatError, match=words):
        read_batch(path, None)


def test_progress_goes_to_a_terminals_stderr_alone(prompts: Path) -> None:
    with echoing(), redirect_stderr(Terminal()) as err, redirect_stdout(io.StringIO()) as out:
        assert run_batch(read_batch(prompts, None), None, ModelOptions(), DecodingOptions()) == 0
    assert "1/3" in err.getvalue()
    assert "4.0 tok/s" in err.getvalue()
    assert len(out.getvalue().splitlines()) == 3


def test_a_closed_input_holds_no_batch(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["ask", "--batch", "-"]) == 1
    assert capsys.readouterr().err.startswith("error: standard input is closed")
    assert not engine.asked
