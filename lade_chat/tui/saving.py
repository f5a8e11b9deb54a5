"""The conversation, or a picture of its last reply, written to a file in the format that the file's name asks for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lade_chat.errors import LadeChatError
from lade_chat.export.content import Content
from lade_chat.export.recording import Recording
from lade_chat.protocol import ModelInfo, ReplyFinished, Statistics, Tokens
from lade_chat.sanitize import printable
from lade_chat.store.conversation import Conversation
from lade_chat.store.jsonl import to_jsonl
from lade_chat.store.markdown import to_markdown
from lade_chat.store.values import Turn

if TYPE_CHECKING:
    from lade_chat.tui.chat_keys import ChatKeys

_TEXTS: dict[str, Callable[[Conversation], str]] = {
    ".md": to_markdown,
    ".jsonl": lambda conversation: "".join(f"{line}\n" for line in to_jsonl(conversation)),
}
_PICTURES = (".html", ".svg", ".cast", ".gif", ".png")


class SavingError(LadeChatError):
    """A file cannot be written."""


def default_name(conversation: Conversation, suffix: str) -> str:
    """A file's name in the working directory that is not taken yet."""
    stem = "-".join(re.findall(r"\w+", conversation.title.lower())[:6])[:40] or "conversation"
    number, name = 1, f"{stem}{suffix}"
    while Path(name).exists():
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def save_as(screen: ChatKeys, name: str) -> None:
    """Write the file in a thread, and say where it is. Raises SavingError for what can be told at once."""
    conversation = screen.chat.conversation.current
    path = Path(name).expanduser()
    write = _writer(conversation, path)

    def work() -> None:
        try:
            write()
            told = f"Written: {printable(str(path))}"
        except LadeChatError as error:
            told = str(error)
        screen.call_later(screen.hint, told)

    screen.run_worker(work, thread=True, group="saving")


def _writer(conversation: Conversation, path: Path) -> Callable[[], None]:
    suffix = path.suffix.lower()
    if not conversation.turns:
        raise SavingError("There is nothing to write yet: type a message first.")
    if suffix not in (*_TEXTS, *_PICTURES):
        raise SavingError(f"A file can end in {', '.join((*_TEXTS, *_PICTURES))}; {path.name} ends in none of these.")
    if path.exists():
        raise SavingError(f"{path} is there already: choose another name.")
    if suffix in _TEXTS:
        return lambda: _write_text(path, _TEXTS[suffix](conversation))
    from lade_chat.export.picture import check_picture, write_picture

    content = picture_of(conversation)
    check_picture(path)
    return lambda: write_picture(path, content)


def picture_of(conversation: Conversation) -> Content:
    """The last reply as it was decoded. Raises SavingError if there is none."""
    turn = next((turn for turn in reversed(conversation.path) if turn.reply), None)
    if turn is None:
        raise SavingError("There is no reply yet of which a picture could be made.")
    asked = next(
        (
            each.question
            for each in reversed(conversation.path[: conversation.path.index(turn) + 1])
            if each.question is not None
        ),
        "",
    )
    return Content(asked, _model_of(turn), (_recording_of(turn),))


def _recording_of(turn: Turn) -> Recording:
    recording = Recording()
    statistics = turn.statistics or Statistics()
    recording.take(Tokens(turn.pieces(), statistics, step_seconds=turn.step_seconds()))
    ending = turn.ending if turn.ending is not None and turn.ending != "failed" else "cancelled"
    recording.take(ReplyFinished(ending, statistics))
    return recording


def _model_of(turn: Turn) -> ModelInfo:
    model = turn.model
    window = turn.statistics.context_window if turn.statistics is not None else 0
    if model is None:
        return ModelInfo("a model", "", "", 0, window, lookahead_supported=True)
    return ModelInfo(model.name, model.device, model.dtype, 0, window, lookahead_supported=True)


def _write_text(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise SavingError(f"{path} is there already: choose another name.") from None
    except OSError as error:
        raise SavingError(f"{path} cannot be written: {error.strerror or error}.") from None
