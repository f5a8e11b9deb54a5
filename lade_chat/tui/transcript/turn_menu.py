"""Menu of the actions on a turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.tui.widgets.dialog import Dialog


class TurnAction(NamedTuple):
    """An action with its key and its label; ``is_offered`` where the turn has a use for it."""

    key: str
    label: str
    act: Callable[[], object]
    is_offered: bool = True
    keeps_focus: bool = False
    """True if the turn keeps the focus, which goes to the prompt after any other action."""


class TurnMenu(Dialog[TurnAction | None]):
    """The menu of a turn: a letter, a click or Enter chooses an action; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Close")]

    def __init__(self, actions: Sequence[TurnAction]) -> None:
        super().__init__()
        self._actions = [each for each in actions if each.is_offered]

    def compose(self) -> ComposeResult:
        rows = [Content.assemble((f" {each.key}  ", "bold"), each.label) for each in self._actions]
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "This turn"
            dialog.border_subtitle = "Esc closes"
            yield OptionList(*map(Option, rows), compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._actions[event.option_index])

    def on_key(self, event: Key) -> None:
        for action in self._actions:
            if event.character == action.key:
                event.stop()
                self.dismiss(action)
