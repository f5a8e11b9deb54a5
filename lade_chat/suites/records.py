"""Records of public data sets as questions, recognised by their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lade_chat.suites.prompts import Question

TEXT_FIELDS = ("prompt", "question", "instruction")
"""Fields that hold a question as one text; a table has one of them as a column."""
_USERS = ("user", "human")


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
