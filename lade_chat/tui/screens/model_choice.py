"""Model dialog: a folder or Hub id, device and precision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, cast

import msgspec
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, OptionList, Static

from lade_chat.errors import DeviceError
from lade_chat.known_models.asked_model import fitted, has_to_choose, is_whole, named, why_unusable
from lade_chat.known_models.models_at_hand import KnownModel
from lade_chat.precision_names import AUTO, check_precision
from lade_chat.protocol.values import ModelOptions, quantisation_named
from lade_chat.tui.screens.model_list import ModelList
from lade_chat.tui.terminal.textual_private import TextCheckbox
from lade_chat.tui.theme.colouring import Colouring
from lade_chat.tui.widgets.dialog import Dialog


class ModelScreen(Dialog[ModelOptions | None]):
    """The model dialog: Enter in any field loads the highlighted model, else the typed one or the first match."""

    AUTO_FOCUS = ""  # Textual scrolls what it focuses to the middle of a low screen
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Cancel"),
        Binding("up", "move(-1)", show=False, priority=True),
        Binding("down", "move(1)", show=False, priority=True),
    ]

    def __init__(
        self, options: ModelOptions, data_folder: Path, error: str = "", aliases: Mapping[str, str] | None = None
    ) -> None:
        """``data_folder``: where the recent models are remembered. ``aliases``: short names of models."""
        super().__init__()
        self._options = options
        self._data_folder = data_folder
        self._error = error
        self._aliases = aliases or {}
        self._taken = KnownModel(options.path or "", device=options.device, dtype=options.precision)
        """The model chosen last, or at first the one in use."""
        self._filled = {"device": options.device or "", "dtype": options.precision or ""}
        """The fields' first contents: a field that holds anything else was edited."""

    def compose(self) -> ComposeResult:
        o = self._options
        with VerticalScroll(classes="dialog", can_focus=False) as dialog:
            dialog.border_title = "Open a model"
            dialog.border_subtitle = "Enter loads it · Esc cancels"
            yield Static(markup=False, classes="error")
            yield Static("Folder, GGUF file, hub id or search words", markup=False)
            yield Input(o.path or "", placeholder="the bundled model", id="path", compact=True)
            yield ModelList(self._data_folder, self._aliases, o.path or "")
            yield Static("Device, as cpu or cuda", markup=False)
            yield Input(o.device or "", placeholder="the best there is", id="device", compact=True)
            yield Static("Precision, as float32 or int8", markup=False)
            yield Input(o.precision or "", placeholder="what suits the device", id="dtype", compact=True)
            yield TextCheckbox(
                "Run Python code that comes with the model", o.trust_remote_code, id="code", compact=True
            )
            yield TextCheckbox("Read weights in pickle files", o.allow_pickle, id="pickle", compact=True)
            yield TextCheckbox("Begin with this model next time too", False, id="keep", compact=True)

    def on_mount(self) -> None:
        for first in self.query("#path"):  # none in a dialog that was closed before it was composed
            self.set_focus(first, scroll_visible=False)
            if self._error:
                self.complain(self._error)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "path":
            # It begins with the model in use, which was not typed.
            self.query_one(ModelList).narrow("" if event.value == (self._options.path or "") else event.value)
            self._fill()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        models = self.query_one(ModelList)
        if models.search_if_chosen():
            return
        path = self._value("path") or ""
        chosen = models.chosen or (None if is_whole(path, self._aliases) else models.first_match)
        if chosen is not None and not self._take(chosen):
            return
        path = self._value("path") or ""
        if has_to_choose(path):
            self._take(KnownModel(path.rstrip("/"), is_model=False))  # and its files are offered
        else:
            self._load()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """A click fills the fields in, or searches the hub."""
        event.stop()
        models = self.query_one(ModelList)
        if not models.search_if_chosen() and models.chosen is not None:
            self._take(models.chosen)

    def action_move(self, direction: int) -> None:
        models = self.query_one(ModelList)
        if self.focused is self.query_one("#path") and models.display:
            models.move(direction)
            self._fill()
        else:
            (self.focus_next if direction > 0 else self.focus_previous)()

    def _take(self, chosen: KnownModel) -> bool:
        """Fill in a model; False for a folder that only leads to others."""
        path = self.query_one("#path", Input)
        path.value = chosen.path if chosen.is_model else f"{chosen.path}/"
        path.action_end()
        path.focus()
        self.query_one(ModelList).highlighted = None
        if chosen.is_model:
            self._taken = chosen
        self._fill()
        return chosen.is_model

    def _fill(self) -> None:
        """Fill in device and precision of the model in the list, unless they were edited."""
        chosen = self.query_one(ModelList).chosen
        model = chosen if chosen is not None and chosen.is_model else self._taken
        for name, value in (("device", model.device or ""), ("dtype", model.dtype or "")):
            field = self.query_one(f"#{name}", Input)
            if field.value == self._filled[name]:
                field.value = self._filled[name] = value

    def _load(self) -> None:
        precision, typed, o = self._value("dtype"), self._value("path"), self._options
        path = named(typed, self._aliases) if typed else None
        if reason := why_unusable(path or ""):
            self.complain(reason)
            self.query_one("#path", Input).select_all()  # what is typed next is another path
            return
        try:
            check_precision(precision or AUTO)
        except DeviceError as error:
            self.complain(str(error))
            return
        quantisation = quantisation_named(precision)
        kept = precision == o.precision
        wanted = msgspec.structs.replace(
            self._options,
            path=path,
            device=self._value("device"),
            dtype=o.dtype if kept else None if quantisation else precision,
            quantize=o.quantize if kept else quantisation,
            trust_remote_code=self.query_one("#code", TextCheckbox).value,
            allow_pickle=self.query_one("#pickle", TextCheckbox).value,
        )
        if (precision or "") == self._filled["dtype"]:  # not edited: a GGUF file has none, and a checkpoint's is kept
            as_before = msgspec.structs.replace(wanted, dtype=o.dtype, quantize=o.quantize)
            wanted = as_before if fitted(as_before)[1] else wanted
        options = fitted(wanted)[0]
        if self.query_one("#keep", TextCheckbox).value:
            begins = {"model_path": options.path, "device": options.device, "dtype": options.precision}
            cast(Colouring, self.app).keep(begins)
        self.dismiss(wanted)

    def _value(self, field: str) -> str | None:
        return self.query_one(f"#{field}", Input).value.strip() or None
