"""Suites of prompts from files, in the formats that people have: text, JSON, tables, Parquet, packed or not."""

from __future__ import annotations

import csv
import gzip
import importlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from lade_chat.errors import LadeChatError, not_installed_message
from lade_chat.paths import SURROGATES, decode_text, read_file
from lade_chat.suites.prompts import Question, Suite, plain_question

TEXT_FIELDS = ("prompt", "question", "instruction")
"""Fields that hold a question as one text; a table has one of them as a column."""
_USERS = ("user", "human")
EXPECTED = (
    "Expected is a prompt a line, JSON lines or a JSON array (MT-Bench, Spec-Bench, HumanEval, GSM8K, ShareGPT, Alpaca,"
    " chat messages) or CSV or TSV with a header, each packed by gzip or not; or Parquet"
)
_MAX_CELL = 2**31 - 1
"""The most characters that every platform lets a cell have; a prompt may be longer than the default of 131,072."""
_GZIP, _PARQUET = b"\x1f\x8b", b"PAR1"


def read_suites(path: Path) -> list[Suite]:
    """Read the suites of a file, whose format follows from its content and, for tables, from its name.

    Records are those of MT-Bench and Spec-Bench (``turns``, each a prompt with those before as its history), of
    HumanEval (``prompt``), GSM8K (``question``), Alpaca (``instruction``, ``input``), ShareGPT (``conversations``), or
    chats (``messages``), whose user turns are taken; suites go by ``category``. They come as JSON lines, as
    one JSON array, or as rows of Parquet; of a CSV or TSV the header names the fields. Any other text is a prompt a
    line, in which ``\\n`` stands for a line break.

    Raises LadeChatError: the file has another format; the message says where, and what is expected.
    """
    data, name = _unpacked(path)
    stem, suffix = Path(name).stem, Path(name).suffix.lower()
    suites: dict[str, list[Question]] = {}
    for place, record in _records(path, data, suffix):
        try:
            suite, question = (stem, record) if isinstance(record, Question) else question_of(record, stem)
        except ValueError as error:
            raise LadeChatError(f"{path}, {place}: {error}.") from None
        suites.setdefault(suite, []).append(question)
    if not suites:
        raise LadeChatError(f"{path} holds no prompts. {EXPECTED}.")
    return [Suite(each, tuple(questions)) for each, questions in suites.items()]


def _unpacked(path: Path) -> tuple[bytes, str]:
    """Return the file's decompressed content, and its name without the suffix of the compression."""
    try:
        data = read_file(path)
    except OSError as error:
        raise LadeChatError(f"{path} cannot be read: {error.strerror or error}.") from None
    if not data.startswith(_GZIP):
        return data, path.name
    try:
        return gzip.decompress(data), path.stem if path.suffix.lower() == ".gz" else path.name
    except (OSError, EOFError, zlib.error) as error:
        raise LadeChatError(f"{path} cannot be unpacked: {error}.") from None


def _records(path: Path, data: bytes, suffix: str) -> Iterator[tuple[str, Any]]:
    """Yield each record with its place in the file; a line of plain text is a question."""
    if data.startswith(_PARQUET):
        return _rows(path)
    try:
        text = decode_text(data)
    except UnicodeDecodeError as error:
        raise LadeChatError(f"{path} is not UTF-8 text (byte {error.start}). {EXPECTED}.") from None
    if suffix in (".csv", ".tsv"):
        return _table(path, text, "\t" if suffix == ".tsv" else None)
    start = text.lstrip()[:1]
    if start == "[":
        return ((f"item {number}", item) for number, item in enumerate(_parsed(path, text), start=1))
    if start == "{":
        return _json_lines(path, text)
    return ((f"line {number}", plain_question(line)) for number, line in _lines(text))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    lines = StringIO(text, newline=None)  # unlike splitlines it leaves line separators within a JSON text alone
    return ((number, line.strip()) for number, line in enumerate(lines, start=1) if line.strip())


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    lines = list(_lines(text))
    try:
        json.loads(lines[0][1])
    except (ValueError, RecursionError):
        # Perhaps one object over several lines.
        try:
            whole = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            yield "item 1", whole
            return
    for number, line in lines:
        yield f"line {number}", _parsed(path, line, number)


def _parsed(path: Path, text: str, line: int | None = None) -> Any:
    """A JSON value. ``line`` is where it stands, where it is one of many."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where, why = line or error.lineno, f"{error.msg}, column {error.colno}"
    except (ValueError, RecursionError) as error:
        where, why = line or 1, str(error)
    raise LadeChatError(f"{path}, line {where}: this is not JSON ({why}). {EXPECTED}.") from None


def _table(path: Path, text: str, delimiter: str | None) -> Iterator[tuple[str, Any]]:
    header, _, _ = text.partition("\n")
    delimiter = delimiter or (";" if ";" in header and "," not in header else ",")
    csv.field_size_limit(_MAX_CELL)
    reader = csv.DictReader(StringIO(text, newline=""), delimiter=delimiter, strict=True, skipinitialspace=True)
    try:
        reader.fieldnames = [name.strip().lower() for name in reader.fieldnames or ()]
        if reader.fieldnames and not set(TEXT_FIELDS) & set(reader.fieldnames):
            raise LadeChatError(f"{path}, line 1: the header names none of {', '.join(TEXT_FIELDS)}.")
        for row in reader:
            if None in row:
                raise LadeChatError(
                    f"{path}, line {reader.line_num}: this has more cells than the header; a cell with the separator in"
                    " it stands in double quotes."
                )
            # Lists have no place in a table.
            known = (*TEXT_FIELDS, "input", "answer", "category", "task_id")
            yield f"line {reader.line_num}", {name: row[name] or "" for name in known if name in row}
    except csv.Error as error:
        raise LadeChatError(f"{path}, after line {reader.line_num}: this is not CSV ({error}).") from None


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        rows = importlib.import_module("pyarrow.parquet").read_table(str(path)).to_pylist()
    except ImportError:
        raise LadeChatError(not_installed_message(f"Reading {path}, a Parquet file,", "pyarrow")) from None
    except Exception as error:  # of many kinds
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise LadeChatError(f"{path} is not a Parquet file that pyarrow can read: {reason}.") from None
    return ((f"row {number}", row) for number, row in enumerate(rows, start=1))


def question_of(record: Any, name: str) -> tuple[str, Question]:
    """Return the suite's name and the question of an object with a known field, or of a text in suite ``name``.

    Raises ValueError: the record is not valid; the message says why.
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
    if SURROGATES.search(value):
        raise ValueError(f"{field} holds half a character (a lone surrogate)")
    return value


def _turns(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """MT-Bench and Spec-Bench."""
    turns = record["turns"]
    if not isinstance(turns, list) or not turns:
        raise ValueError("turns must be a list of texts")
    return "turns", tuple(text_of(turn, "turns") for turn in turns)


def _prompt(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """HumanEval; where it is a list, turns or messages."""
    name, prompt = "humaneval" if "task_id" in record else "prompts", record["prompt"]
    if not isinstance(prompt, list):
        return name, (text_of(prompt, "prompt"),)
    if prompt and isinstance(prompt[0], Mapping):
        return name, _users_turns(prompt, "prompt", "role", "content")
    return name, _turns({"turns": prompt})[1]


def _instruction(record: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Alpaca: an instruction, and often something that it is about."""
    parts = [text_of(record["instruction"], "instruction")]
    if record.get("input"):
        parts.append(text_of(record["input"], "input"))
    return "alpaca", ("\n\n".join(parts),)


def _users_turns(messages: Any, field: str, role: str, content: str) -> tuple[str, ...]:
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
    # Chats by role, as OpenAI's and TRL's data sets hold them, and ShareGPT.
    "messages": lambda record: ("messages", _users_turns(record["messages"], "messages", "role", "content")),
    "conversations": lambda record: (
        "sharegpt",
        _users_turns(record["conversations"], "conversations", "from", "value"),
    ),
    "prompt": _prompt,
    "question": lambda record: (
        "gsm8k" if "answer" in record else "questions",
        (text_of(record["question"], "question"),),
    ),
    "instruction": _instruction,
}
