"""Saving the conversation, or a picture of its last reply, in the format that the file's suffix names."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input, Static

from lade_chat.errors import LadeChatError
from lade_chat.export.content import Content, Recording
from lade_chat.export.picture import WRITERS, check_name, check_picture, write_file, write_picture
from lade_chat.export.theme import Theme
from lade_chat.paths import check_writable, expanded
from lade_chat.presentation.metric_words import of_whole
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.token_looks import ColourView
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import ModelInfo, Piece, Statistics
from lade_chat.store import tree
from lade_chat.store.conversation_documents import to_jsonl, to_markdown
from lade_chat.store.records import Model, Turn
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.theme.colouring import view_of
from lade_chat.tui.widgets.dialog import Dialog, DialogBox

_TEXTS: dict[str, Callable[[Conversation], str]] = {
    ".md": to_markdown,
    ".jsonl": lambda conversation: "".join(f"{line}\n" for line in to_jsonl(conversation)),
}
_BOTH = (".html", ".svg")
"""Picture formats that contain both a dark and a light version, chosen by the viewer's preference."""
FORMATS = ".html or .svg, in dark and light · .png · .gif or .cast, in motion"


def default_name(text: str, suffix: str) -> str:
    """Return an unused file name in the working directory, made from a title or a question."""
    stem = "-".join(re.findall(r"\w+", text.lower())[:6])[:40] or "conversation"
    number, name = 1, f"{stem}{suffix}"
    while os.path.lexists(name):
        number += 1
        name = f"{stem}-{number}{suffix}"
    return name


def save_as(
    screen: Screen[Any], conversation: Conversation, name: str, usual: str, report: Callable[[str], None]
) -> None:
    """Save the conversation, or a picture of its last reply, and report the path.

    ``usual`` is the suffix of the command's default name; the error for a wrong name lists the formats of its kind.
    Raises LadeChatError at once if the name or the conversation does not fit; later errors are reported.
    """
    if not conversation.turns:
        raise LadeChatError("There is nothing to save yet: type a message first.")
    path = expanded(name)
    suffix = path.suffix.lower()
    if suffix not in (*_TEXTS, *WRITERS):
        _refuse_suffix(path, _TEXTS if usual in _TEXTS else WRITERS)
    if suffix in _TEXTS:
        _check_free(path)
        write: Callable[[], None] = partial(_write_text, path, conversation)
    else:
        write = _picture_writer(screen, path, picture_of(conversation, view_of(screen)))
    _write_in_thread(screen, write, path, report)


def save_picture(screen: Screen[Any], name: str, content: Content) -> None:
    """Save a picture and report the path. Raises LadeChatError at once if the name does not fit."""
    path = expanded(name)
    if path.suffix.lower() not in WRITERS:
        _refuse_suffix(path, WRITERS)
    report = partial(screen.app.notify, markup=False)
    _write_in_thread(screen, _picture_writer(screen, path, content), path, report)


def _refuse_suffix(path: Path, suffixes: Iterable[str]) -> NoReturn:
    check_name(path, (*_TEXTS, *WRITERS))
    *others, last = suffixes
    raise LadeChatError(f"The file name must end in {', '.join(others)} or {last}; {path.name or 'that'} does not.")


def _picture_writer(screen: Screen[Any], path: Path, content: Content) -> Callable[[], None]:
    """Return a function that writes the picture: in the screen's theme unless the format follows its reader's."""
    _check_free(path)
    check_picture(path)
    theme: Theme = "auto" if path.suffix.lower() in _BOTH else "dark" if screen.app.current_theme.dark else "light"
    return partial(write_picture, path, content, theme=theme)


def _write_in_thread(screen: Screen[Any], write: Callable[[], None], path: Path, report: Callable[[str], None]) -> None:
    def work() -> None:
        try:
            write()
            result = f"Written: {printable(path.name)} in {printable(str(path.absolute().parent))}"
        except LadeChatError as error:
            result = str(error)
        screen.call_later(report, result)

    screen.run_worker(work, thread=True, group="saving")


def _check_free(path: Path) -> None:
    check_writable(path)
    if os.path.lexists(path):
        raise LadeChatError(f"{path} is there already: choose another name.")


def picture_of(conversation: Conversation, view: ColourView) -> Content:
    """Return the last reply as it was decoded, continuations included. Raises LadeChatError if there is none."""
    path = conversation.path
    replies = [path[first:last] for first, last in tree.wholes(path) if any(turn.reply for turn in path[first:last])]
    if not replies:
        raise LadeChatError("There is no reply to make a picture of yet.")
    turns = replies[-1]
    return Content(turns[0].question or "", _model_of(turns[-1]), (_recording_of(turns),), view=view)


def _recording_of(turns: Sequence[Turn]) -> Recording:
    """Return the recording of a reply and its continuations, on one clock."""
    pieces, ends, elapsed = list[Piece](), list[float](), 0.0
    runs = [turn.statistics or Statistics() for turn in turns]
    for turn, run in zip(turns, runs, strict=True):
        said, seconds = turn.pieces(), turn.step_seconds()
        unknown = [run.seconds] * (1 + max((piece.step for piece in said), default=-1) - len(seconds))
        pieces += [msgspec.structs.replace(piece, step=len(ends) + piece.step) for piece in said]
        ends += [elapsed + each for each in (*seconds, *unknown)]
        elapsed += run.seconds
    recording, statistics, ending = Recording(), of_whole(runs), turns[-1].ending
    recording.take(Tokens(tuple(pieces), statistics, step_seconds=tuple(ends)))
    recording.take(ReplyFinished(ending if ending is not None and ending != "failed" else "cancelled", statistics))
    return recording


def _model_of(turn: Turn) -> ModelInfo:
    model = turn.model or Model("a model")
    window = turn.statistics.context_window if turn.statistics is not None else 0
    return ModelInfo(model.name, model.device, model.dtype, 0, window, lookahead_supported=True)


def _write_text(path: Path, conversation: Conversation) -> None:
    text = _TEXTS[path.suffix.lower()](conversation)  # here in the thread: of thousands of turns it takes a second
    write_file(path, text.encode("utf-8", "replace"))


class PictureName(Dialog[None]):
    """The dialog: Enter writes the picture, and closes the dialog unless the name is refused; Esc cancels."""

    AUTO_FOCUS = "Input"  # which selects the name, so that typing replaces it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Cancel", priority=True)]

    def __init__(self, name: str, write: Callable[[str], None]) -> None:
        """``name`` is the one to begin with; ``write`` raises LadeChatError for what can be told of one at once."""
        super().__init__()
        self._wanted, self._write = name, write

    def compose(self) -> ComposeResult:
        with DialogBox("A picture of this race", "Enter writes it · Esc cancels"):
            yield Static(classes="error", markup=False)
            yield Input(self._wanted, compact=True)
            yield Static(FORMATS, markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            self._write(event.value.strip())
        except LadeChatError as error:
            self.complain(str(error))
        else:
            self.dismiss()
