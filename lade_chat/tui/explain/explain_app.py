"""The `lade-chat explain` application: loads a model and shows the tutorial."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from lade_chat.engine.process.client import EngineConnection
from lade_chat.errors import unexpected
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import part
from lade_chat.protocol.commands import Explain, Load, Stop
from lade_chat.protocol.events import EngineLost, Loaded, LoadFailed, Loading
from lade_chat.protocol.values import Message, ModelOptions
from lade_chat.tui.app.quitting import Interrupts
from lade_chat.tui.explain.explain_screen import ExplainScreen
from lade_chat.tui.key_map import KeyNames
from lade_chat.tui.terminal.other_programs import end_on_signals
from lade_chat.tui.terminal.textual_private import fail_in_a_line
from lade_chat.tui.theme.colouring import Colouring
from lade_chat.tui.theme.themes import default_theme
from lade_chat.tui.widgets.bars import StatusBar

NO_STEPS = (
    "lookahead cannot serve this model, so there are no steps of it to show; without --model-path, the small one is"
)

WIDGETS = Path(__file__).parents[1] / "widgets"


class ExplainApp(Colouring):
    """The tutorial as an application. If there is nothing to show, it exits, and ``trouble`` says why in one line."""

    TITLE = "lade-chat explain"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "quit", "Leave", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True, show=False),
    ]
    CSS_PATH: ClassVar = [WIDGETS / f"{name}.tcss" for name in ("metric_lines", "bars")]

    def __init__(
        self, engine: EngineConnection, model_options: ModelOptions, question: str, theme: str | None = None
    ) -> None:
        super().__init__()
        fail_in_a_line(self, lambda error: f"error: {printable(unexpected(error))}")
        self._engine, self._options, self._question = engine, model_options, question
        self._explanation: ExplainScreen | None = None
        self.trouble = ""
        self.key_names = KeyNames({"stop": "escape"})
        self._interrupts = Interrupts()
        self.theme = str(theme) if theme in self.available_themes else default_theme()

    def compose(self) -> ComposeResult:
        yield Static(Content("\n  How lookahead decoding works\n"), markup=False)
        yield StatusBar()

    def on_load(self) -> None:
        end_on_signals(lambda code: self.exit(return_code=code))

    def on_mount(self) -> None:
        self.query_one(StatusBar).show([part(0, "loading the model")])
        self.call_after_refresh(lambda: self.run_worker(self._run_engine()))

    async def _run_engine(self) -> None:
        await self._engine.start()
        self._engine.send(Load(self._options))
        async for event in self._engine.events():
            match event:
                case Loading():
                    self.query_one(StatusBar).show_loading(event)
                case Loaded(model) if not model.lookahead_supported:
                    self._fail(f"{model.name}: {NO_STEPS}")
                case Loaded(model):
                    self._explanation = ExplainScreen(model)
                    self.push_screen(self._explanation, self._leave)
                    self._engine.send(Explain((Message("user", self._question),)))
                case LoadFailed(message):
                    self._fail(message)
                case EngineLost(message) if self._explanation is None:
                    self._fail(message)
                case _ if self._explanation is not None:
                    self._explanation.show_event(event)

    def _leave(self, is_taking_steps: bool | None) -> None:
        if is_taking_steps:
            self._engine.send(Stop())
        self.exit()

    def _fail(self, message: str) -> None:
        self.trouble = message
        self.exit()

    def action_help_quit(self) -> None:
        """Quit on the second Ctrl+C in a row; the first says so."""
        if self._interrupts.again():
            self.exit()
        else:
            self.notify("Ctrl+C again quits · Esc leaves")
