"""Settings screen: every value in words, with its source, edited in the settings file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Checkbox, Input, Label, OptionList, Select, Static

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import DecodingOptions
from lade_chat.settings.catalogue import MODEL_SETTINGS, SETTINGS, Switch, Text, Value, as_text
from lade_chat.settings.decoding_options import SAMPLING_FIELDS
from lade_chat.settings.effective import Preferences, parse
from lade_chat.tui.terminal.textual_private import TextCheckbox
from lade_chat.tui.widgets.dialog import Dialog, DialogBox

AS_THE_MODEL_SAYS = "as the model says"
_CHOICES = {"sampling": {"greedy": "greedy", "model": AS_THE_MODEL_SAYS}}
_NOTHING = {
    "sampling": "by the values below",
    "temperature": "1",
    "seed": "drawn anew",
    "system": "none",
    "stop": "none",
    "think": "auto",
    "max_thought_tokens": "no limit",
}
_DEFAULTS = {
    **{name: as_text(getattr(DecodingOptions(), name)) for name in ("lookahead", "debug", "max_new_tokens")},
    **{name: as_text(setting.default) for name, setting in SETTINGS.items() if setting.default is not None},
    "sampling": "greedy",
    "colours": "verified",
}


def choice_words(name: str, value: str) -> str:
    """Return a value of a setting as a user reads it."""
    if isinstance(SETTINGS[name].kind, Switch):
        return "on" if value == "true" else "off"
    return _CHOICES.get(name, {}).get(value, value)


RARE = ("top_k", "min_p", "typical_p", "repetition_penalty", "stop")
"""Settings that stand behind ``more``, unless the file has them."""
_FIRST = ("theme", "colours", "system", "max_new_tokens")
_SIZES = ("window_size", "ngram_size", "guess_set_size")
FORGET = "the default again"
"""The choice that removes a setting from the file."""
_NOT_SHOWN = (*MODEL_SETTINGS, *_SIZES, "raw", "screen_reader", "save", "data_dir")
"""Settings that the command line needs before there is a screen, or that an open chat cannot change."""
Changes: TypeAlias = Mapping[str, Value | None]
"""Changed settings only; None removes a setting from the file."""


class SettingsScreen(Dialog[Changes | None]):
    """The settings dialog: Enter in any field, or Ctrl+S, saves; Esc cancels."""

    HORIZONTAL_BREAKPOINTS = [(0, "-slim"), (45, "-narrow"), (140, "-roomy")]  # noqa: RUF012
    AUTO_FOCUS = ""  # Textual scrolls what it focuses to the middle of a low screen
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", priority=True),
        Binding("ctrl+s", "save", "Save", priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
    ]

    def __init__(
        self, preferences: Preferences, in_force: Mapping[str, str], refusals: Mapping[str, tuple[str, str]]
    ) -> None:
        """``in_force``: present values; ``refusals``: what the model has no use for, and why in short and long."""
        super().__init__()
        self._preferences = preferences
        self._refusals = refusals
        self._in_force = {**_DEFAULTS, **{name: printable(value) for name, value in in_force.items()}}
        if "sampling" not in in_force:
            del self._in_force["sampling"]
        self._theme = ""

    def compose(self) -> ComposeResult:
        with DialogBox("Settings", "↑ ↓ move · Enter keeps · Esc cancels"):
            with VerticalScroll(can_focus=False):
                yield Static(classes="error", markup=False)
                if self._preferences.path is not None:
                    yield Static(
                        Content.styled(printable(str(self._preferences.path)), "$foreground-muted"), markup=False
                    )
                for name in _shown():
                    if name == RARE[0]:
                        yield TextCheckbox("more settings of sampling", id="more", compact=True)
                    with Horizontal(classes="setting") as row:
                        row.set_class(name in self._refusals, "-refused")
                        row.display = name not in RARE or name in self._preferences.file_values
                        yield Label(name, markup=False)
                        yield self._field(name)
                        yield Static(self._about(name), markup=False, classes="about")
            yield Static(classes="line", markup=False)

    def on_mount(self) -> None:
        self._theme = self.app.theme
        for first in self.query("#system"):
            self.set_focus(first, scroll_visible=False)
        # A dialog closed before it was composed has no rows.
        for themes in self.query("#theme OptionList").results(OptionList):
            self.watch(themes, "highlighted", self._preview, init=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave Esc and the arrows to an open list of choices."""
        return action == "save" or not any(select.expanded for select in self.query(Select))

    def action_move(self, direction: int) -> None:
        (self.focus_next if direction > 0 else self.focus_previous)()

    def on_descendant_focus(self) -> None:
        """Describe the setting; leave the preview of a theme that was not chosen."""
        # Of two in a row the message of the first may come last.
        name = self.focused.id if self.focused is not None else None
        if name == "more" or name in _shown():
            about = f"Space lists {', '.join(RARE)}, or hides them." if name == "more" else self._whole(name)
            self.query_one(".line", Static).update(about)
            self._show_theme(self._text("theme"))

    def _preview(self, place: int | None) -> None:
        """Show the theme under the cursor at once; Esc brings the one before back."""
        select = self.query_one("#theme", Select)
        if place is not None and select.expanded:
            self._show_theme(str(select.query_one(OptionList).get_option_at_index(place).prompt))

    def _show_theme(self, name: str) -> None:
        """Show this theme, or the one before if there is none of the name."""
        self.app.theme = name if name in self.app.available_themes else self._theme

    def on_checkbox_changed(self, event: Checkbox.Changed) -> None:
        """Show the rare settings, or hide them."""
        for name in RARE:
            row = self.query_one(f"#{name}").parent
            assert row is not None
            row.display = event.value or bool(self._text(name))

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
                self.complain(str(error))
                self.query_one(f"#{name}").focus()
                self.query_one(VerticalScroll).scroll_home(animate=False)
                return
        self._close(changes)

    def action_cancel(self) -> None:
        self._close(None)

    def _close(self, changes: Changes | None) -> None:
        self.app.theme = self._theme
        self.dismiss(changes)

    def _field(self, name: str) -> Input | Select[str]:
        before, (value, source) = self._before(name), self._now(name)
        now = f"{value} · {source}" if source else value
        if (refusal := self._refusals.get(name)) is not None:
            options, prompt = [(Content(refusal[0]), before)], refusal[0]
        elif choices := self._choices(name):
            known = not before or before in choices
            listed = choices if known else [before, *choices]
            options = [(Content(choice_words(name, each)), each) for each in listed]
            prompt = FORGET if before else now
        else:
            return Input(before, placeholder=now, compact=True, id=name)
        refused = refusal is not None
        return Select(options, prompt=prompt, value=before or Select.NULL, compact=True, disabled=refused, id=name)

    def _choices(self, name: str) -> list[str]:
        """Return the allowed values; empty where any text is allowed."""
        kind = SETTINGS[name].kind
        if name == "theme":
            return sorted(self.app.available_themes, key=lambda theme: (not theme.startswith("lade-"), theme))
        if isinstance(kind, Switch):
            return ["true", "false"]
        return list(kind.choices) if isinstance(kind, Text) else []

    def _now(self, name: str) -> tuple[str, str]:
        """Return the value in force, or what happens without one, and where it comes from; empty without one."""
        value, kept = self._in_force.get(name), self._preferences.file_values.get(name)
        sampling = self._in_force.get("sampling") if name in SAMPLING_FIELDS else None
        if value is None:
            says = AS_THE_MODEL_SAYS if sampling == "model" and name != "seed" else _NOTHING.get(name, "off")
            return "not used: greedy" if sampling == "greedy" else says, ""
        source = "by default" if name == "theme" or value == _DEFAULTS.get(name) else "in this chat"
        if self._preferences.overruled(name):
            source = f"from {self._overruling(name)}"
        elif kept is not None and self._before(name) == value:
            source = "from this file"
        elif sampling == "model":
            source = AS_THE_MODEL_SAYS
        return choice_words(name, value), source

    def _overruling(self, name: str) -> str:
        return "a flag" if self._preferences.origins[name] == "flag" else str(SETTINGS[name].variable)

    def _before(self, name: str) -> str:
        value = self._preferences.file_values.get(name)
        return "" if value is None else printable(as_text(value)).replace("\n", " | ")

    def _text(self, name: str) -> str:
        field = self.query_one(f"#{name}")
        if isinstance(field, Select):
            return field.value if isinstance(field.value, str) else ""
        assert isinstance(field, Input)
        return field.value

    def _about(self, name: str) -> Content:
        """Return the setting's description, or why it cannot be set, or whatever overrides the file."""
        if (refusal := self._refusals.get(name)) is not None:
            return Content.styled(refusal[1], "$text-warning")
        if self._preferences.overruled(name):
            return Content.styled(f"{self._overruling(name)} overrides it now", "$text-warning")
        return Content.styled(_meaning(name), "$foreground-muted")

    def _whole(self, name: str) -> Content:
        """Return the description, with the value in force and its source."""
        value, source = self._now(name)
        now = f" Now {printable(value)}{source and f', {source}'}."
        return Content.assemble((_meaning(name), "$foreground-muted"), now)


def _shown() -> tuple[str, ...]:
    """Return the names of the settings on this screen, in order."""
    return (*_FIRST, *(name for name in SETTINGS if name not in (*_FIRST, *_NOT_SHOWN, *RARE)), *RARE)


def _meaning(name: str) -> str:
    meaning = "texts before which a reply ends, with | between" if name == "stop" else SETTINGS[name].meaning
    return f"{meaning[0].upper()}{meaning[1:]}."
