"""Settings screen: every value with its source, edited in the settings file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import DescendantFocus
from textual.widgets import Input, Label, Select, Static

from lade_chat.presentation.sanitize import printable
from lade_chat.settings.catalogue import MODEL_SETTINGS, SETTINGS
from lade_chat.settings.kinds import Switch, Text, Value, as_text
from lade_chat.settings.preferences import Preferences
from lade_chat.settings.settings import parse
from lade_chat.tui.widgets.dialog import Dialog

_FIRST = ("theme", "colours", "system", "max_new_tokens")
_SIZES = ("window_size", "ngram_size", "guess_set_size")
_NOT_SHOWN = (*MODEL_SETTINGS, *_SIZES, "raw", "plain", "save", "data_dir")
"""Settings that the command line needs before there is a screen, or that an open chat cannot change."""
Changes: TypeAlias = Mapping[str, Value | None]
"""Only what is another than before; None for a setting that is to be forgotten."""


class SettingsScreen(Dialog[Changes | None]):
    """Enter in any field, or Ctrl+S, keeps them; Esc leaves everything as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
    ]

    def __init__(self, preferences: Preferences, themes: list[str]) -> None:
        super().__init__()
        self._preferences = preferences
        self._themes = themes

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", can_focus=False) as dialog:
            dialog.border_title = "Settings"
            dialog.border_subtitle = "Enter keeps them · Esc cancels"
            yield Static(classes="error", markup=False)
            yield Static(Content.styled(printable(str(self._preferences.path)), "$text-muted"), markup=False)
            for name in _shown():
                with Horizontal(classes="setting"):
                    yield Label(name, markup=False)
                    yield self._field(name)
                    yield Static(self._about(name), markup=False, classes="about")
            yield Static(classes="line", markup=False)

    def on_mount(self) -> None:
        self.query_one(".error").display = False
        self.query_one("#system").focus()

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        if event.widget.id in _shown():
            self.query_one(".line", Static).update(self._about(event.widget.id))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_save()

    def action_save(self) -> None:
        changes: dict[str, Value | None] = {}
        for name in _shown():
            text = self._text(name)
            if text == self._before(name):
                continue
            try:
                changes[name] = parse(name, text.replace(" | ", "\n") if name == "stop" else text)
            except ValueError as error:
                self._complain(name, str(error))
                return
        self.dismiss(changes)

    def action_cancel(self) -> None:
        self.dismiss(None)

    def _field(self, name: str) -> Input | Select[str]:
        choices = _choices(name, self._themes)
        before = self._before(name)
        if not choices:
            return Input(before, placeholder="default", compact=True, id=name)
        if before and before not in choices:
            choices = [before, *choices]
        options = [(choice, choice) for choice in choices]
        if before:
            return Select(options, prompt="default", value=before, compact=True, id=name)
        return Select(options, prompt="default", compact=True, id=name)

    def _before(self, name: str) -> str:
        value = self._preferences.file_values.get(name)
        return "" if value is None else as_text(value).replace("\n", " | ")

    def _text(self, name: str) -> str:
        field = self.query_one(f"#{name}")
        if isinstance(field, Select):
            return field.value if isinstance(field.value, str) else ""
        assert isinstance(field, Input)
        return field.value

    def _about(self, name: str) -> Content:
        """Return the setting's description, or whatever overrides the file."""
        if self._preferences.overruled(name):
            what = "a flag" if self._preferences.origins[name] == "flag" else SETTINGS[name].variable
            return Content.styled(f"{what} goes over it now", "$text-warning")
        meaning = "texts before which a reply ends, with | between" if name == "stop" else SETTINGS[name].meaning
        return Content.styled(meaning, "$text-muted")

    def _complain(self, name: str, line: str) -> None:
        error = self.query_one(".error", Static)
        error.update(Content(printable(line)))
        error.display = True
        self.query_one(f"#{name}").focus()
        self.query_one(".dialog").scroll_home(animate=False)


def _shown() -> tuple[str, ...]:
    """Return the names of the settings on this screen, in order."""
    return (*_FIRST, *(name for name in SETTINGS if name not in (*_FIRST, *_NOT_SHOWN)))


def _choices(name: str, themes: list[str]) -> list[str]:
    """Return the allowed values; empty where any text is allowed."""
    kind = SETTINGS[name].kind
    if name == "theme":
        return themes
    if isinstance(kind, Switch):
        return ["true", "false"]
    return list(kind.choices) if isinstance(kind, Text) else []
