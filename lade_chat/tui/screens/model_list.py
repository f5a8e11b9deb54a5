"""List of known models below the input field, narrowed by its text, selected with Up and Down."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual import work
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.presentation.sanitize import printable
from lade_chat.settings.models import KnownModel, completions, in_folder, in_hub_cache, recent


class ModelList(OptionList, can_focus=False):
    """Empty lists take no room. Nothing is highlighted until somebody moves there."""

    def __init__(self, data_folder: Path) -> None:
        super().__init__(compact=True, markup=False)
        self._known: dict[str, KnownModel] = {}
        self._shown: list[KnownModel] = []
        self._typed = ""
        self._data_folder = data_folder

    def on_mount(self) -> None:
        self._look()

    @property
    def chosen(self) -> KnownModel | None:
        """The model or folder that is highlighted."""
        return self._shown[self.highlighted] if self.highlighted is not None else None

    def narrow(self, typed: str) -> None:
        """Show what fits what was typed."""
        self._typed = typed
        self._show()

    def move(self, direction: int) -> None:
        if direction > 0:
            self.action_cursor_down()
        elif self.highlighted == 0:
            self.highlighted = None
        elif self.highlighted is not None:
            self.action_cursor_up()

    @work(thread=True, exclusive=True)
    def _look(self) -> None:
        """In the order in which they are found: the hub's cache may be large."""
        self.app.call_from_thread(self._add, recent(self._data_folder))
        self.app.call_from_thread(self._add, in_folder(Path.cwd()))
        self.app.call_from_thread(self._add, in_hub_cache())

    def _add(self, models: Iterable[KnownModel]) -> None:
        for model in models:
            self._known.setdefault(model.path, model)
        if self.is_attached:
            self._show()

    def _show(self) -> None:
        chosen = self.chosen
        fitting = [model for model in self._known.values() if self._typed.lower() in model.path.lower()]
        paths = {model.path for model in fitting}
        fitting += [model for model in completions(self._typed) if model.path not in paths]
        self._shown = fitting
        self.clear_options()
        self.add_options([Option(_line(model)) for model in fitting])
        self.display = bool(fitting)
        self.highlighted = fitting.index(chosen) if chosen in fitting else None


def _line(model: KnownModel) -> Content:
    name = printable(model.path) + ("" if model.is_model else "/")
    return Content.assemble(name, (f"  {model.about}", "$text-muted") if model.about else "")
