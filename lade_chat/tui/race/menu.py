"""Menu of a race: left method, right method and question; Enter starts it."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import OptionList, Static

from lade_chat.presentation.methods import METHODS, in_force, title
from lade_chat.protocol.values import MethodSpec, Sizes
from lade_chat.suites.prompts import BUNDLED
from lade_chat.tui.widgets.dialog import Dialog, DialogBox


class RaceMenu(Dialog[tuple[MethodSpec, MethodSpec, str] | None]):
    """Lists of methods and of questions. Its result: both methods and the suite, empty for the same question."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close"),
        Binding("right", "app.focus_next", show=False),
        Binding("left", "app.focus_previous", show=False),
    ]

    def __init__(self, left: MethodSpec, right: MethodSpec, sizes: Sizes | None) -> None:
        super().__init__()
        self._methods = [in_force(MethodSpec(name), sizes) for name in METHODS]
        self._now = [in_force(each, sizes) for each in (left, right)]

    def compose(self) -> ComposeResult:
        titles = [title(each) for each in self._methods]
        over = ["this question", *(f"suite {name}" for name in BUNDLED)]
        with DialogBox("Race", "Enter starts · Tab goes on · Esc closes"):
            with Horizontal(id="race-choices"):
                for name, options in (("left", titles), ("right", titles), ("over", over)):
                    with Vertical():
                        yield Static(name.capitalize(), markup=False, classes="race-choice-title")
                        yield OptionList(*options, id=f"choose-{name}", markup=False)
            yield Static(markup=False, id="race-meaning")

    def on_mount(self) -> None:
        for name, now in zip(("left", "right"), self._now, strict=True):
            self._list(name).highlighted = self._methods.index(now) if now in self._methods else 0
        self._list("over").highlighted = 0
        self._list("left").focus()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what the method is."""
        if event.option_list.id == "choose-over":
            text = "ten questions, one race each, from empty tables" if event.option_index else "once more"
        else:
            text = METHODS[self._methods[event.option_index].name].meaning
        self.query_one("#race-meaning", Static).update(Content(text))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        left, right, over = (self._list(name).highlighted or 0 for name in ("left", "right", "over"))
        self.dismiss((self._methods[left], self._methods[right], BUNDLED[over - 1] if over else ""))

    def _list(self, name: str) -> OptionList:
        return self.query_one(f"#choose-{name}", OptionList)
