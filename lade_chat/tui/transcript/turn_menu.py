"""Menu of the actions on a turn."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias, cast, get_args

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.tui.conversations.session import ShownTurn
from lade_chat.tui.widgets.dialog import Dialog

TurnAction: TypeAlias = Literal[
    "copy", "code", "message", "retry", "edit", "answer", "continue", "token", "branch", "before", "after"
]
_WORDS: dict[TurnAction, tuple[str, str]] = {
    "copy": ("c", "Copy the reply"),
    "code": ("k", "Copy its code"),
    "message": ("m", "Copy the message"),
    "retry": ("r", "Ask again"),
    "edit": ("e", "Edit the question and ask that"),
    "answer": ("a", "Edit the reply and have it go on"),
    "continue": ("g", "Have the reply go on"),
    "token": ("t", "Another token, and go on from there"),
    "branch": ("b", "Go on from here; what follows is kept"),
    "before": ("[", "The alternative before"),
    "after": ("]", "The next alternative"),
}
"""The key and the label of each action."""


class TurnMenu(Dialog[TurnAction | None]):
    """The menu of a turn: a letter, a click or Enter chooses an action; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close")]

    def __init__(self, shown: ShownTurn, has_code: bool = False, is_cut_off: bool = False) -> None:
        """``is_cut_off``: the model has not ended the reply by itself."""
        super().__init__()
        unfit: set[TurnAction] = set()
        if not shown.turn.reply:
            unfit |= {"copy", "answer", "token"}
        if not shown.turn.reply or not is_cut_off:
            unfit.add("continue")
        if not has_code:
            unfit.add("code")
        if shown.turn.question is None:
            unfit |= {"message", "edit"}
        if shown.place == 1:
            unfit.add("before")
        if shown.place == shown.count:
            unfit.add("after")
        self._offered = [action for action in get_args(TurnAction) if action not in unfit]

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "This turn"
            dialog.border_subtitle = "Esc closes"
            yield OptionList(*(Option(self._row(action), action) for action in self._offered), compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(cast(TurnAction, event.option_id))

    def on_key(self, event: Key) -> None:
        for action in self._offered:
            if event.character == _WORDS[action][0]:
                event.stop()
                self.dismiss(action)

    @staticmethod
    def _row(action: TurnAction) -> Content:
        letter, words = _WORDS[action]
        return Content.assemble((f" {letter}  ", "bold"), words)
