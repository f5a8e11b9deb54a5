"""Prompt suites: the bundled ones, and the selection of suites."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lade_chat.errors import UsageError

BUNDLED = ("code", "math", "lists", "story", "chat", "adversarial")
"""The bundled suites; the replies of the last one are the hardest to guess."""
MIN_QUESTIONS = 10
"""A smaller suite's result says little beyond its own prompts."""

_FOLDER = Path(__file__).resolve().parent
_ESCAPE = re.compile(r"\\([n\\])")
TEXT_FIELDS = ("prompt", "question", "instruction")
"""Fields that hold a question as one text; a table has one of them as a column."""
_USERS = ("user", "human")


@dataclass(frozen=True, slots=True)
class Question:
    """A user's turns: one, or several, each asked after the answer to the one before."""

    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """Questions of one kind; ``benchmark`` is the public one of which they are a category."""

    name: str
    questions: tuple[Question, ...]
    benchmark: str | None = None


def bundled_suites() -> list[Suite]:
    """Return the bundled suites, at least ten prompts each."""
    return [
        Suite(
            name, tuple(map(plain_question, _FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()))
        )
        for name in BUNDLED
    ]


def choose(
    suites: Sequence[Suite], names: Sequence[str] | None, limit: int | None, *, beside: Iterable[str] = ()
) -> list[Suite]:
    """Return the named suites (all without names), each question once, and at most ``limit`` questions of each.

    A repeated question would be answered from tables that have seen it. Raises UsageError, which also names what can
    be chosen ``beside`` them.
    """
    known = [suite.name for suite in suites]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise UsageError(f"There is no suite '{unknown[0]}'. Choose from: {', '.join([*known, *beside])}.")
    return [
        replace(suite, questions=tuple(dict.fromkeys(suite.questions))[:limit])
        for suite in merged(suites)
        if not names or suite.name in names
    ]


def evenly(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """Return at most ``limit`` questions, evenly spread over all of them."""
    if limit is None or limit >= len(questions):
        return questions
    return [questions[place * len(questions) // limit] for place in range(limit)]


def merged(suites: Iterable[Suite]) -> list[Suite]:
    """Join suites of the same name."""
    questions: dict[str, tuple[Question, ...]] = {}
    for suite in suites:
        questions[suite.name] = questions.get(suite.name, ()) + suite.questions
    return [Suite(name, each) for name, each in questions.items()]


def plain_question(line: str) -> Question:
    """A prompt on a line, in which ``\\n`` stands for a line break."""
    return Question((_ESCAPE.sub(lambda found: "\n" if found[1] == "n" else "\\", line),))


def question_of(record: Any, name: str) -> tuple[str, Question]:
    """Return the suite's name and the question of a record.

    Args:
        record: an object with one of the known fields, or a text.
        name: the suite of texts, which do not say theirs.

    Raises:
        ValueError: the record is not valid; the message says why.
    """
    if isinstance(record, str):
        return name, Question((text_of(record, "a prompt"),))
    if not isinstance(record, Mapping):
        raise ValueError("this is neither a JSON object nor a text")
    for field, read in _FIELDS.items():
        if record.get(field) is not None:
            kind, turns = read(record)
            return str(record.get("category") or kind), Question(turns)
    raise ValueError(f"this has none of the fields {', '.join(_FIELDS)}")


def text_of(value: Any, field: str) -> str:
    """Return a text that is not empty. Raises ValueError, naming the field."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{field} must be text that is not empty")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{field} holds half a character (a lone surrogate)")
    return value


def _turns(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """MT-Bench and Spec-Bench."""
    turns = record["turns"]
    if not isinstance(turns, list) or not turns:
        raise ValueError("turns must be a list of texts")
    return "turns", tuple(text_of(turn, "turns") for turn in turns)


def _messages(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Chats by role, as OpenAI's and TRL's data sets hold them."""
    return "messages", _users_turns(record["messages"], "messages", role="role", content="content")


def _conversations(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """ShareGPT."""
    return "sharegpt", _users_turns(record["conversations"], "conversations", role="from", content="value")


def _prompt(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """HumanEval; where it is a list, turns or messages."""
    name, prompt = "humaneval" if "task_id" in record else "prompts", record["prompt"]
    if not isinstance(prompt, list):
        return name, (text_of(prompt, "prompt"),)
    if prompt and isinstance(prompt[0], Mapping):
        return name, _users_turns(prompt, "prompt", role="role", content="content")
    return name, _turns({"turns": prompt})[1]


def _question(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """GSM8K."""
    return "gsm8k" if "answer" in record else "questions", (text_of(record["question"], "question"),)


def _instruction(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Alpaca: an instruction, and often something that it is about."""
    parts = [text_of(record["instruction"], "instruction")]
    if record.get("input"):
        parts.append(text_of(record["input"], "input"))
    return "alpaca", ("\n\n".join(parts),)


def _users_turns(messages: Any, field: str, *, role: str, content: str) -> tuple[str, ...]:
    """The user's part of a chat: the answers between are the model's own to give."""
    if not isinstance(messages, list) or not all(isinstance(message, Mapping) for message in messages):
        raise ValueError(f"{field} must be a list of objects with {role} and {content}")
    turns = [_content(message.get(content), content) for message in messages if message.get(role) in _USERS]
    if not turns:
        raise ValueError(f"{field} has no user's turn")
    return tuple(turns)


def _content(value: Any, field: str) -> str:
    """A message's text, which may be given in parts."""
    if isinstance(value, list):
        value = "".join(text_of(part.get("text") if isinstance(part, Mapping) else None, field) for part in value)
    return text_of(value, field)


_FIELDS: dict[str, Callable[[Mapping[str, Any]], tuple[str, tuple[str, ...]]]] = {
    "turns": _turns,
    "messages": _messages,
    "conversations": _conversations,
    "prompt": _prompt,
    "question": _question,
    "instruction": _instruction,
}
