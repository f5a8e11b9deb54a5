"""Reads suites of prompts: those that come along, and files in the formats that people have."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lade_chat.errors import LadeChatError

BUNDLED = ("code", "math", "lists", "story", "chat", "adversarial")
"""The suites that come along; the last one's replies are as hard to guess as any."""
FEWEST_QUESTIONS = 10
"""With fewer a suite's figures are those of its few prompts."""

_FOLDER = Path(__file__).resolve().parent
_ESCAPE = re.compile(r"\\([n\\])")


@dataclass(frozen=True, slots=True)
class Question:
    """What a user says: one turn, or several, each of which waits for the answer to the one before."""

    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """Questions of one kind."""

    name: str
    questions: tuple[Question, ...]


def bundled_suites() -> list[Suite]:
    """The suites that come along, at least ten prompts each."""
    return [
        Suite(name, tuple(map(_plain, _FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines())))
        for name in BUNDLED
    ]


def read_suites(path: Path) -> list[Suite]:
    """The suites of a file, whose format is found out from what it holds.

    JSON lines are those of MT-Bench and Spec-Bench (``turns``, each a prompt with those before as its history; suites
    by ``category``), of HumanEval (``prompt``) or GSM8K (``question``). Any other text is a prompt a line, in which
    ``\\n`` stands for a line break. Raises LadeChatError, with the line's number where a line is broken.
    """
    lines = [(number, line.strip()) for number, line in enumerate(_read(path).splitlines(), start=1) if line.strip()]
    if not lines:
        raise LadeChatError(f"{path} holds no prompts.")
    if not lines[0][1].startswith(("{", "[")):
        return [Suite(path.stem, tuple(_plain(line) for _, line in lines))]
    suites: dict[str, list[Question]] = {}
    for number, line in lines:
        try:
            name, question = _json_line(line)
        except ValueError as error:
            raise LadeChatError(f"{path}, line {number}: {error}.") from None
        suites.setdefault(name, []).append(question)
    return [Suite(name, tuple(questions)) for name, questions in suites.items()]


def choose(suites: Sequence[Suite], names: Sequence[str] | None, limit: int | None) -> list[Suite]:
    """The suites asked for (all of them if no names are given), each question once, and at most ``limit`` of them.

    A question that came twice would be answered from what the tables learnt the first time. Raises LadeChatError for
    a name that no suite has.
    """
    known = [suite.name for suite in suites]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise LadeChatError(f"There is no suite '{unknown[0]}'. Choose from: {', '.join(known)}.")
    return [
        replace(suite, questions=tuple(dict.fromkeys(suite.questions))[:limit])
        for suite in merged(suites)
        if not names or suite.name in names
    ]


def merged(suites: Iterable[Suite]) -> list[Suite]:
    """Suites of one name as one."""
    questions: dict[str, tuple[Question, ...]] = {}
    for suite in suites:
        questions[suite.name] = questions.get(suite.name, ()) + suite.questions
    return [Suite(name, each) for name, each in questions.items()]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LadeChatError(f"{path} is no UTF-8 text (byte {error.start}).") from None
    except OSError as error:
        raise LadeChatError(f"{path} cannot be read: {error.strerror or error}.") from None


def _plain(line: str) -> Question:
    return Question((_ESCAPE.sub(lambda found: "\n" if found[1] == "n" else "\\", line),))


def _json_line(line: str) -> tuple[str, Question]:
    """The suite's name and the question of a line. Raises ValueError with what is wrong."""
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON ({error.msg}, column {error.colno})") from None
    if not isinstance(record, dict):
        raise ValueError("this is no JSON object")
    for field, read in _FORMATS.items():
        if field in record:
            return read(record)
    raise ValueError(f"this has none of the fields {', '.join(_FORMATS)}")


def _turns(record: dict[str, Any]) -> tuple[str, Question]:
    turns = record["turns"]
    if not isinstance(turns, list) or not turns:
        raise ValueError("turns must be a list of texts")
    return str(record.get("category") or "turns"), Question(tuple(_text(turn, "turns") for turn in turns))


def _human_eval(record: dict[str, Any]) -> tuple[str, Question]:
    name = "humaneval" if "task_id" in record else "prompts"
    return str(record.get("category") or name), Question((_text(record["prompt"], "prompt"),))


def _gsm8k(record: dict[str, Any]) -> tuple[str, Question]:
    return str(record.get("category") or "gsm8k"), Question((_text(record["question"], "question"),))


def _text(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field} must be text that is not empty")
    return value


_FORMATS: dict[str, Callable[[dict[str, Any]], tuple[str, Question]]] = {
    "turns": _turns,
    "prompt": _human_eval,
    "question": _gsm8k,
}
"""How a record is read, by the field that tells its kind."""
