"""Asks for a model: a folder or a hub id, and where and how it is to run."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Input, Static

from lade_chat.protocol import ModelOptions
from lade_chat.sanitize import printable


class Choice(Checkbox):
    """A checkbox that can be read without colours: the mark is there only if it is on."""

    def __init__(self, label: str, value: bool, *, id: str) -> None:  # noqa: A002
        super().__init__(label, value, id=id, compact=True)
        self.BUTTON_INNER = "X" if value else " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = "X" if self.value else " "
        super().watch_value()


class ModelScreen(ModalScreen[ModelOptions | None]):
    """Enter in any field loads the model; Esc leaves everything as it was."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Cancel")]

    def __init__(self, options: ModelOptions, error: str = "") -> None:
        super().__init__()
        self._options = options
        self._error = error

    def compose(self) -> ComposeResult:
        o = self._options
        with VerticalScroll(classes="dialog", can_focus=False) as dialog:
            dialog.border_title = "Open a model"
            dialog.border_subtitle = "Enter loads it · Esc cancels"
            if self._error:
                yield Static(Content(printable(self._error)), markup=False, classes="error")
            yield Static("Folder or hub id (empty: the bundled model)", markup=False)
            yield Input(o.path or "", id="path", compact=True)
            yield Static("Device, as cpu or cuda (empty: the best)", markup=False)
            yield Input(o.device or "", id="device", compact=True)
            yield Static("Precision, as float32 (empty: chosen for you)", markup=False)
            yield Input(o.dtype or "", id="dtype", compact=True)
            yield Choice("Run Python code that comes with the model", o.trust_remote_code, id="code")
            yield Choice("Read weights in pickle files", o.allow_pickle, id="pickle")

    def on_mount(self) -> None:
        self.query_one("#path", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(
            msgspec.structs.replace(
                self._options,
                path=self._value("path"),
                device=self._value("device"),
                dtype=self._value("dtype"),
                trust_remote_code=self.query_one("#code", Choice).value,
                allow_pickle=self.query_one("#pickle", Choice).value,
            )
        )

    def action_cancel(self) -> None:
        self.dismiss(None)

    def _value(self, field: str) -> str | None:
        return self.query_one(f"#{field}", Input).value.strip() or None
