"""The help: what lookahead decoding is, what is promised, and every key."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Static

from lade_chat.figures import ORIGINS
from lade_chat.protocol import ModelInfo
from lade_chat.tui.slash import COMMANDS
from lade_chat.tui.tint import verified_style

KEYS = (
    ("Enter", "send"),
    ("Shift+Enter, Ctrl+J", "break the line"),
    ("Up, Down", "recall what you sent, in any conversation"),
    ("Tab", "complete a /command or an @file"),
    ("Ctrl+G", "write in your own editor ($VISUAL, $EDITOR)"),
    ("Esc", "stop; what was said is kept"),
    ("Ctrl+L, F2", "lookahead on or off, any time"),
    ("Ctrl+R, F3", "race on against off, then other methods"),
    ("Ctrl+D", "debug panel (times are averages)"),
    ("F4", "opens it too, then turns its page"),
    ("F9, F10", "pause a reply or go on, take one step"),
    ("F5", "open or fold thoughts"),
    ("F7", "replies as Markdown, or token by token"),
    ("Ctrl+N", "new conversation; this one is kept"),
    ("Ctrl+T, F8", "conversations: search, resume, rename, delete"),
    ("Shift+Tab", "go to the last turn; Up and Down to others"),
    ("Enter on a turn", "copy, retry, edit, branch; or click its name"),
    ("Left, Right", "on a turn: its alternatives"),
    ("Page Up, Page Down", "read back"),
    ("Ctrl+O", "open another model"),
    ("F6", "restart a lost engine"),
    ("Ctrl+S, F12", "settings"),
    ("Ctrl+C", "copy the selected text"),
    ("Ctrl+P", "commands and themes"),
    ("Ctrl+Q", "quit, at any time"),
)
ATTACHING = (
    "@notes.txt in a message attaches that text file; @@ is a plain @. A message that begins with // sends one slash."
    " What you say is kept on this machine, each token with its colour: lade-chat --continue goes on with it."
)

IDEA = (
    "A language model writes one token (a piece of a word) a step. Lookahead decoding lets it guess several"
    " tokens ahead beside each step, and checks earlier guesses in the same step. A guess is kept only if the"
    " model would have written exactly that, so several tokens can come out of one step."
)
SIZES = (
    "How much is guessed and checked follows, step by step, from what a step costs on this machine (lookahead ON auto)."
    " The flags -W, -N and -G fix it instead: W is the window (how many positions ahead are guessed), N the length of"
    " a guessed n-gram, G how many are checked in a step."
)
PROMISE = (
    "Switched on or off, the text is the same: in float32 up to ties between two tokens. In half precision"
    " (bfloat16, float16) a near tie may fall otherwise, because a step over many tokens rounds a little"
    " differently from a step over one."
)


class HelpScreen(ModalScreen[None]):
    """Esc, F1, Enter and whatever can be typed close it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,enter", "dismiss", "Close")]

    def __init__(self, model: ModelInfo | None) -> None:
        super().__init__()
        self._model = model

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as dialog:
            dialog.border_title = "Help"
            dialog.border_subtitle = "Esc closes"
            yield Static(self._keys(), markup=False)
            yield Static(self._commands(), markup=False)
            yield Static(self._legend(), markup=False)
            for text in (ATTACHING, IDEA, _sources(), SIZES, PROMISE, self._this_model()):
                if text:
                    yield Static(Content(text), markup=False)

    def on_key(self, event: Key) -> None:
        """Someone who types wants to be back at the prompt."""
        if event.is_printable:
            event.stop()
            self.dismiss()

    def _keys(self) -> Content:
        rows = [Content.assemble((f"{key:<22} ", "bold"), action) for key, action in KEYS]
        return Content("\n").join(rows)

    def _commands(self) -> Content:
        rows = [(f"/{command.name} {command.takes}", command.does) for command in COMMANDS]
        return Content("\n").join(Content.assemble((f"{typed:<22} ", "bold"), does) for typed, does in rows)

    def _legend(self) -> Content:
        return Content.assemble(
            (" tinted ", verified_style(self.app)),
            " guessed and verified: several tokens in one step\n plain   decoded one by one",
        )

    def _this_model(self) -> str:
        if self._model is None:
            return ""
        return f"{self._model.name} runs on {self._model.device} in {self._model.dtype}."


def _sources() -> str:
    """Where guesses come from, in words."""
    *first, last = (words for origin, words in ORIGINS.items() if origin != "plain")
    return f"A guess is {', '.join(first)}, or {last}."
