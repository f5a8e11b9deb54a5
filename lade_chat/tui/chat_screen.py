"""The main screen: transcript, status, prompt; it shows what ``Chat`` decides and tells it what the user does."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Footer

from lade_chat.figures import Part, options_forms, part, promise, reply_parts
from lade_chat.protocol import (
    Command,
    DecodingOptions,
    Event,
    Loading,
    ModelInfo,
    ModelOptions,
    ReplyFinished,
    Statistics,
    Tokens,
)
from lade_chat.tui.chat import Chat, Phase
from lade_chat.tui.debug_panel import DebugPanel
from lade_chat.tui.header_bar import HeaderBar
from lade_chat.tui.help_screen import HelpScreen
from lade_chat.tui.model_screen import ModelScreen
from lade_chat.tui.prompt import Prompt
from lade_chat.tui.race_screen import RaceScreen
from lade_chat.tui.status_bar import StatusBar
from lade_chat.tui.transcript import Transcript
from lade_chat.tui.welcome import Welcome


class ChatScreen(Screen[None]):
    """A ``ChatView``. Every key works while the prompt has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+l,f2", "toggle_lookahead", "Lookahead", priority=True),
        Binding("ctrl+r,f3", "race", "Race", priority=True),
        Binding("escape", "stop", "Stop", priority=True),
        Binding("f6", "restart", "Restart", priority=True),
        Binding("f1", "help", "Help", priority=True),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
        Binding("ctrl+d,f4", "toggle_debug", "Debug", priority=True),
        Binding("ctrl+n", "new_conversation", "New", priority=True),
        Binding("ctrl+o", "open_model", "Model", priority=True),
        Binding("f5", "toggle_thoughts", "Thoughts", priority=True, show=False),
        Binding("pageup", "page(-1)", show=False, priority=True),
        Binding("pagedown", "page(1)", show=False, priority=True),
    ]

    def __init__(
        self,
        send: Callable[[Command], None],
        restart: Callable[[], None],
        model_options: ModelOptions,
        decoding_options: DecodingOptions,
        system: str | None,
        *,
        debug: bool,
    ) -> None:
        super().__init__()
        self.chat = Chat(self, send, restart, model_options, decoding_options, system)
        self._debug = debug
        self._race: RaceScreen | None = None
        self._statistics: Statistics | None = None
        self._measuring = False
        self.chat.set_debug(debug)

    def compose(self) -> ComposeResult:
        yield HeaderBar(self.chat.options, self.chat.sampling)
        with Container(id="body"):
            yield Transcript()
            yield DebugPanel()
        yield StatusBar()
        yield Prompt()
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(DebugPanel).display = self._debug
        self.query_one(Prompt).focus()
        self.status.show([part(0, "starting")])

    # --- widgets by their types --------------------------------------------------------------------------------

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def status(self) -> StatusBar:
        return self.query_one(StatusBar)

    @property
    def _header(self) -> HeaderBar:
        return self.query_one(HeaderBar)

    # --- what the user does ------------------------------------------------------------------------------------

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        if self.chat.submit(event.text):
            self.prompt.remember(event.text)
            self.prompt.put("")

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        if self.chat.submit(event.text):
            self.prompt.remember(event.text)
        self.prompt.focus()

    def action_toggle_lookahead(self) -> None:
        self.chat.toggle_lookahead()

    def action_race(self) -> None:
        self.chat.race(self.prompt.text)

    def action_stop(self) -> None:
        self.prompt.focus()
        self.chat.stop()

    def action_restart(self) -> None:
        self.chat.restart()

    def action_new_conversation(self) -> None:
        self.chat.new_conversation()

    def action_toggle_debug(self) -> None:
        self._debug = not self._debug
        self.query_one(DebugPanel).display = self._debug
        self.chat.set_debug(self._debug)
        self._show_debug()

    def action_toggle_thoughts(self) -> None:
        if not self.transcript.toggle_thoughts():
            self.hint("There are no thoughts to open in this conversation.")

    def action_open_model(self, error: str = "") -> None:
        self.app.push_screen(ModelScreen(self.chat.model_options, error), self._model_chosen)

    def _model_chosen(self, options: ModelOptions | None) -> None:
        if options is not None:
            self.chat.load(options)

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(self.chat.model))

    def action_page(self, direction: int) -> None:
        if direction < 0:
            self.transcript.action_page_up()
        else:
            self.transcript.action_page_down()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Restart is offered only when there is something to restart."""
        return self.chat.phase is Phase.LOST if action == "restart" else True

    # --- what Chat shows (ChatView) ----------------------------------------------------------------------------

    def loading_began(self) -> None:
        self._header.show_model(None, "loading the model")
        self.status.show([part(0, "starting the engine")])
        self.refresh_bindings()

    def load_progressed(self, progress: Loading) -> None:
        self.status.show_loading(progress)

    def model_ready(self, model: ModelInfo) -> None:
        self._header.show_model(model)
        self.transcript.forget_failed_load()
        for text in model.notices:
            self.transcript.note(text)

    def load_failed(self, message: str, kept: ModelInfo | None) -> None:
        if kept is not None:
            self._header.show_model(kept)
            self.transcript.fail_load(message, f"{kept.name} is still loaded. Ctrl+O opens another model.")
            return
        self._header.show_model(None, "no model")
        self.status.show([part(0, "no model is loaded: Ctrl+O opens one")])
        self.transcript.fail_load(message, "Ctrl+O opens another model.")
        if not self.prompt.text and self.app.screen is self:
            self.action_open_model(message)

    def engine_lost(self, message: str) -> None:
        self._header.show_model(None, "engine lost")
        long = "the engine is gone: F6, or your next message, starts it again"
        self.status.show([part(0, long, "engine gone: F6 or a message restarts it")])
        way_on = "The conversation is kept. F6, or your next message, starts the engine and loads the model again."
        self.transcript.note(message[:1].upper() + message[1:], "error", way_on)
        self.refresh_bindings()

    def user_said(self, text: str) -> None:
        self.transcript.say(text)

    def reply_began(self) -> None:
        self.transcript.begin_reply()
        self._statistics, self._measuring = None, self.chat.options.debug
        self.status.show([part(0, "reading the prompt")])
        self._show_debug()

    def reading(self, done: int, total: int) -> None:
        self.status.show_reading(done, total)

    def reply_grew(self, tokens: Tokens) -> None:
        self.transcript.grow_reply(tokens)
        self._statistics = tokens.statistics
        if not self.chat.stopping:
            self.status.show(reply_parts(tokens.statistics))
        self._show_debug()

    def reply_ended(self, finished: ReplyFinished) -> None:
        self._statistics, self._measuring = finished.statistics, False
        self.transcript.end_reply(finished, debug=self._debug)
        self._show_debug()

    def reply_failed(self, message: str | None) -> None:
        self._measuring = False
        self.transcript.fail_reply(message)
        self._show_debug()

    def give_back(self, question: str) -> None:
        if not self.prompt.text:
            self.prompt.put(question)

    def stopping(self) -> None:
        self.status.show([part(0, "stopping")])

    def settled(self) -> None:
        self.status.show(self._ready_parts())
        self.refresh_bindings()

    def lookahead_changed(self) -> None:
        self._header.show_options(self.chat.options)
        if self.chat.phase is Phase.READY:
            self.status.show(self._ready_parts())

    def sampling_changed(self) -> None:
        self._header.show_sampling(self.chat.sampling)

    def race_began(self, question: str) -> None:
        dtype = self.chat.model.dtype if self.chat.model is not None else "float32"
        self._race = RaceScreen(question, dtype, self.chat.stop)
        self.app.push_screen(self._race)

    def race_event(self, event: Event) -> None:
        if self._race is not None and self._race.is_attached:
            self._race.tell(event)

    def cleared(self) -> None:
        self._statistics, self._measuring = None, False
        self.transcript.reset()
        self._show_debug()
        if self.chat.phase is Phase.READY:
            self.status.show(self._ready_parts())

    def failed(self, message: str) -> None:
        self.transcript.note(message, "error")

    def notice(self, text: str) -> None:
        self.transcript.note(text)

    def hint(self, text: str) -> None:
        self.status.hint(text)

    def _show_debug(self) -> None:
        if self._debug:
            self.query_one(DebugPanel).show(self._statistics, measuring=self._measuring)

    def _ready_parts(self) -> list[Part]:
        model = self.chat.model
        parts = [part(0, "ready"), part(2, *options_forms(self.chat.options, model))]
        if self._statistics is not None:
            parts.append(part(3, f"context {self._statistics.context_used}/{self._statistics.context_window}"))
        if model is not None and model.lookahead_supported:
            parts.append(part(1, *promise(model.dtype)))
        return parts
