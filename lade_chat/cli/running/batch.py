"""``lade-chat ask --batch``: a file of prompts in, a file of answers out; resumes where one is missing."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from lade_chat.cli.running.answers_file import AnswersFile
from lade_chat.cli.running.engine_run import loaded_engine, run
from lade_chat.cli.running.output import Collected
from lade_chat.cli.running.process_exit import FAILURE, INTERRUPTED
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError
from lade_chat.paths import decode_text, read_file, read_stream
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelInfo, ModelOptions

if TYPE_CHECKING:
    from lade_chat.engine.process.command_server import JobEngine

KEYS = ("prompt", "messages", "system", "id")
"""Keys that an object on a line may have."""
BAR_COLUMNS = 20
MAX_NAMED_LINES = 10
"""Lines of the file that a warning names."""


@dataclass(frozen=True)
class Item:
    """One line of the file; ``line`` counts from 1."""

    line: int
    messages: tuple[Message, ...]
    about: dict[str, Any]
    """The keys that the answer repeats: the line's number, its ``id`` if it has one, and the prompt."""

    @property
    def system(self) -> str | None:
        """The system prompt, the line's own or that of all lines."""
        first = self.messages[0]
        return first.content if first.role == "system" else None


def read_batch(path: Path, system: str | None) -> tuple[Item, ...]:
    """The items of a file, ``-`` for standard input. Raises LadeChatError with the line that is wrong.

    A line that begins with { is an object with ``prompt`` or ``messages`` (role and content), and ``id`` and
    ``system`` if wanted; any other is a prompt, in which \\n stands for a line break. Empty lines are left out.
    """
    name = "standard input" if str(path) == "-" else str(path)
    if str(path) == "-" and sys.stdin is None:
        raise LadeChatError("standard input is closed: give a file of prompts, or pipe one in.")
    try:
        data = read_stream(sys.stdin.buffer, name) if str(path) == "-" else read_file(path)
        text = decode_text(data)
    except UnicodeDecodeError as error:
        raise LadeChatError(f"{name} is not UTF-8 text (byte {error.start}).") from None
    except OSError as error:
        raise LadeChatError(f"{name} cannot be read: {error.strerror or error}.") from None
    items = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                items.append(_item(number, line.strip(), system))
            except ValueError as error:
                raise LadeChatError(f"{name}, line {number}: {error}.") from None
    if not items:
        raise LadeChatError(f"{name} holds no prompt.")
    return tuple(items)


def run_batch(
    items: Sequence[Item],
    output: Path | None,
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    all_tokens: bool = False,
    screen_reader: bool = False,
) -> int:
    """Answer every item, a JSON line each, in order, to ``output`` (else stdout).

    Answers already in ``output`` are kept, and what failed there is asked again; each line is on disk before the next
    one is asked. Returns the exit code: 0, 1 if an item failed (its line says why), 130 after Ctrl+C. Raises
    LadeChatError.
    """
    if output is None:
        require_output()
    file = AnswersFile(output, [item.about for item in items]) if output is not None else None
    missing = file.missing if file is not None else range(len(items))
    with loaded_engine(model_options, screen_reader=screen_reader) as (engine, model, line, out):
        progress, stopped = _Progress(len(items), len(items) - len(missing)), False
        if file is not None:
            file.check_model(model.name)
            line.clear()
            sys.stderr.writelines(f"{told}\n" for told in file.kept(options, [item.system for item in items]))
        with nullcontext() if file is None or not missing else file:
            for place in missing:
                item = items[place]
                line.show(progress.text)
                record = _answer(engine, item, model, options, all_tokens=all_tokens)
                line.clear()
                if record is None:
                    stopped = True
                    break
                answer = json.dumps({**item.about, "system": item.system, **record}, allow_nan=False) + "\n"
                if file is not None:
                    file.write(place, answer)
                else:
                    out.write(answer)
                    out.flush()
                progress.take(item, record)
    _warn_of(progress)
    return INTERRUPTED if stopped else _ended(len(items), progress.failed)


def _answer(
    engine: JobEngine, item: Item, model: ModelInfo, options: DecodingOptions, *, all_tokens: bool
) -> dict[str, Any] | None:
    reply = Collected()
    try:
        for event in run(engine, Reply(item.messages, options)):
            if isinstance(event, ReplyStarted | Tokens | ReplyFinished):
                reply.take(event)
    except LadeChatError as error:
        return {"error": str(error)}
    if reply.finish_reason == "cancelled":
        return None
    record = reply.as_json(model, options)
    return record if all_tokens else {name: value for name, value in record.items() if name != "tokens"}


def _item(number: int, line: str, system: str | None) -> Item:
    record = _record(line) if line.startswith("{") else {"prompt": line.replace("\\n", "\n")}
    if ("prompt" in record) == ("messages" in record):
        raise ValueError("this needs either a prompt or messages")
    for key in record:
        if key not in KEYS:
            raise ValueError(f"there is no key {printable(key)!r} (known are {', '.join(KEYS)})")
    try:
        messages = (
            msgspec.convert(record["messages"], tuple[Message, ...])
            if "messages" in record
            else (Message("user", msgspec.convert(record["prompt"], str)),)
        )
        own = msgspec.convert(record.get("system", system), str | None)
    except msgspec.ValidationError as error:
        key = "messages" if "messages" in record else "prompt" if not isinstance(record["prompt"], str) else "system"
        what = "must be a list of roles with contents" if key == "messages" else "must be text"
        raise ValueError(f"{key} {what} ({error})") from None
    if not messages or not messages[-1].content.strip():
        raise ValueError("the prompt is empty")
    if own and messages[0].role != "system":
        messages = (Message("system", own), *messages)
    about = {"line": number, **({"id": record["id"]} if "id" in record else {}), "prompt": messages[-1].content}
    return Item(number, messages, about)


def _record(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"this is not JSON ({error.msg}, column {error.colno})") from None
    except RecursionError:
        raise ValueError("this is nested too deeply") from None
    try:
        json.dumps(found.get("id"), allow_nan=False)
    except ValueError:
        raise ValueError("the id is not JSON (which has neither NaN nor Infinity)") from None
    assert isinstance(found, dict)  # it begins with a brace
    return found


def _warn_of(progress: _Progress) -> None:
    """Say which lines got an answer without a text, and which were asked without their oldest messages."""
    if lines := progress.silent:
        has = "answer has" if len(lines) == 1 else "answers have"
        why = "the model ended at once, a stop string came first, or all tokens are special, unprintable or blank"
        sys.stderr.write(f"warning: {len(lines)} {has} no text ({_named(lines)}): {why}\n")
    if lines := progress.cut:
        sys.stderr.write(f"warning: the oldest messages no longer fit and were left out ({_named(lines)})\n")


def _named(lines: Sequence[int]) -> str:
    named = ", ".join(map(str, lines[:MAX_NAMED_LINES])) + (" …" if len(lines) > MAX_NAMED_LINES else "")
    return f"{'line' if len(lines) == 1 else 'lines'} {named}"


def _ended(total: int, failed: int) -> int:
    if failed:
        sys.stderr.write(f"{failed} of {total} prompts failed: their lines have an error instead of a text\n")
    elif sys.stderr.isatty():
        sys.stderr.write(f"all {total} prompts answered\n")
    return FAILURE if failed else 0


class _Progress:
    """Progress of a batch, an estimate of the time left, and what there is to report at the end."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._done, self._known = total, done, done
        self._tokens, self._seconds = 0, 0.0
        self._started = time.monotonic()
        self.failed = 0
        """Prompts that got an error."""
        self.silent: list[int] = []
        """Lines of the prompts whose answer has no text."""
        self.cut: list[int] = []
        """Lines of the prompts that did not fit whole."""

    def take(self, item: Item, record: Mapping[str, Any]) -> None:
        self._done += 1
        if "error" in record:
            self.failed += 1
            return
        self._tokens += record["generated_tokens"]
        self._seconds += record["seconds"]
        if not record["text"].strip():
            self.silent.append(item.line)
        if record["dropped_messages"]:
            self.cut.append(item.line)

    @property
    def text(self) -> str:
        full = BAR_COLUMNS * self._done // self._total
        parts = [f"{'━' * full}{'╌' * (BAR_COLUMNS - full)} {self._done}/{self._total}"]
        if self._seconds > 0:
            parts.append(f"{self._tokens / self._seconds:.1f} tok/s")
        if self._done > self._known:
            each = (time.monotonic() - self._started) / (self._done - self._known)
            parts.append(f"{_duration(each * (self._total - self._done))} left")
        return SEPARATOR.join(parts)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
