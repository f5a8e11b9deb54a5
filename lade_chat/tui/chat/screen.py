"""The main screen: transcript, status, prompt; it shows what ``Chat`` decides and tells it what the user does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from textual.app import ComposeResult
from textual.containers import Container

from lade_chat.export.content import Content
from lade_chat.export.recording import Recording
from lade_chat.presentation.metrics import Part, options_forms, part, promise, reply_parts
from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import Event, Loading, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions, Statistics
from lade_chat.store.running_reply import SAVE_SECONDS
from lade_chat.store.store import Store
from lade_chat.tui.app.start import Start
from lade_chat.tui.chat.controller import Chat
from lade_chat.tui.chat.keys import ChatKeys
from lade_chat.tui.chat.phase import Phase
from lade_chat.tui.chat.saving import default_name, save_picture
from lade_chat.tui.conversations.store_worker import SAVED_AGAIN, Keeper
from lade_chat.tui.explain.screen import ExplainScreen
from lade_chat.tui.inspector.panel import DebugPanel
from lade_chat.tui.prompt.completion_list import CompletionList
from lade_chat.tui.prompt.editor import Prompt
from lade_chat.tui.race.menu import RaceChoice, RaceMenu
from lade_chat.tui.race.screen import RaceScreen
from lade_chat.tui.screens.picture_name import PictureName
from lade_chat.tui.theme.legend import view_of
from lade_chat.tui.transcript.column import Transcript
from lade_chat.tui.transcript.notice import Notice, NoticeKind
from lade_chat.tui.widgets.header_bar import HeaderBar
from lade_chat.tui.widgets.key_footer import KeyFooter
from lade_chat.tui.widgets.status_bar import StatusBar


class ChatScreen(ChatKeys):
    """A ``ChatView``."""

    def __init__(
        self,
        store: Store,
        send: Callable[[Command], None],
        restart: Callable[[], None],
        model_options: ModelOptions,
        decoding_options: DecodingOptions,
        system: str | None,
        *,
        debug: bool,
        start: Start,
    ) -> None:
        super().__init__()
        self.keeper = Keeper(store, self.call_later, self._told)
        self.chat = Chat(self, self.keeper, send, restart, model_options, decoding_options, system)
        self.deleted = []
        self._start = start
        self._debug = debug
        self._race: RaceScreen | None = None
        self._explanation: ExplainScreen | None = None
        self._statistics: Statistics | None = None
        self._inspection: Inspection | None = None
        self._measuring = False
        # They stand in the transcript as long as they are true.
        self._unsaved: Notice | None = None
        self._engine_gone: Notice | None = None
        self.chat.set_debug(debug)

    def compose(self) -> ComposeResult:
        yield HeaderBar(self.chat.options, self.chat.sampling)
        with Container(id="body"):
            yield Transcript()
            yield DebugPanel()
        yield StatusBar()
        yield CompletionList()
        yield Prompt()
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one(DebugPanel).display = self._debug
        self.prompt.completions = self.query_one(CompletionList)
        self.prompt.focus()
        self.status.show([part(0, "starting")])
        self.set_interval(SAVE_SECONDS, self.chat.tick)
        self.begin_with(self._start)

    @property
    def _header(self) -> HeaderBar:
        return self.query_one(HeaderBar)

    def action_turn_debug(self) -> None:
        if not self._debug or not self.query_one(DebugPanel).turn_page():
            self.action_toggle_debug()

    def action_toggle_debug(self) -> None:
        self._debug = not self._debug
        self.query_one(DebugPanel).display = self._debug
        self.chat.set_debug(self._debug)
        self._show_debug()

    def refuse(self, text: str) -> None:
        before = self._situation
        self.status.hint(text, lambda: self._situation == before)

    @property
    def _situation(self) -> tuple[object, ...]:
        """On what it depends what can be done."""
        return self.chat.phase, self.chat.stopping, self.chat.model, self.chat.conversation.current

    # --- what Chat shows (ChatView) ----------------------------------------------------------------------------

    def loading_began(self) -> None:
        self._header.show_model(None, "loading the model")
        self.status.show([part(0, "starting the engine")])
        self.transcript.forget(self._engine_gone)
        self.refresh_bindings()

    def load_progressed(self, progress: Loading) -> None:
        self.status.show_loading(progress)

    def model_ready(self, model: ModelInfo) -> None:
        self._header.show_model(model)
        self.transcript.tell_of_model(model.notices)

    def load_failed(self, message: str, kept: ModelInfo | None) -> None:
        key = self.key_names.first("open_model")
        if kept is not None:
            self._header.show_model(kept)
            self.transcript.fail_model(message, f"{kept.name} is still loaded. {key} opens another model.")
            return
        self._header.show_model(None, "no model")
        self.status.show([part(0, f"no model is loaded: {key} opens one")])
        self.transcript.fail_model(message, f"{key} opens another model.")
        if not self.prompt.text and self.app.screen is self:
            self.action_open_model(message)

    def engine_lost(self, message: str) -> None:
        self._header.show_model(None, "engine lost")
        key = self.key_names.first("restart")
        long = f"the engine is gone: {key}, or your next message, starts it again"
        self.status.show([part(0, long, f"engine gone: {key} or a message restarts it")])
        way_on = f"The conversation is kept. {key}, or your next message, starts the engine and loads the model again."
        self._engine_gone = self.transcript.fail_model(message[:1].upper() + message[1:], way_on)
        self.refresh_bindings()

    def user_said(self, text: str | None) -> None:
        self.transcript.say(text)

    def cut(self, turn: int) -> None:
        self.transcript.cut(turn)

    def reply_began(self) -> None:
        self.transcript.begin_reply()
        self._statistics, self._inspection, self._measuring = None, None, self.chat.options.debug
        self.status.show([part(0, "reading the prompt")])
        self._show_debug()

    def reading(self, done: int, total: int) -> None:
        self.status.show_reading(done, total)

    def reply_grew(self, tokens: Tokens) -> None:
        self.transcript.grow_reply(tokens)
        self._statistics = tokens.statistics
        self._inspection = tokens.inspection or self._inspection
        if not self.chat.stopping:
            self.status.show(self._running_parts())
        self._show_debug()

    def reply_ended(self, finished: ReplyFinished) -> None:
        self._statistics, self._measuring = finished.statistics, False
        self.transcript.end_reply(finished, debug=self._debug)
        self._show_debug()

    def reply_failed(self, message: str | None) -> None:
        self._measuring = False
        self.transcript.fail_reply(message)
        self._show_debug()

    def turn_kept(self) -> None:
        talk = self.chat.conversation
        if (ended := talk.last_ended) is not None:
            self.transcript.keep_last(talk.shown([ended])[0])
            self.transcript.fold(talk.current.path, talk.shown)

    def give_back(self, question: str) -> None:
        if question and not self.prompt.text:
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

    def pace_changed(self) -> None:
        self.status.show(self._running_parts())
        self._show_debug()

    def sampling_changed(self) -> None:
        self._header.show_sampling(self.chat.sampling)

    def race_began(self, question: str) -> None:
        dtype = self.chat.model.dtype if self.chat.model is not None else "float32"
        before, self._race = (
            self._race,
            RaceScreen(
                question,
                dtype,
                self.chat.stop,
                races=self.chat.races,
                titles=self.chat.races.titles(self.chat.options),
                again=self.chat.race_again,
                menu=self._choose_race,
                picture=partial(self._keep_race, question),
            ),
        )
        if before is not None and self.app.screen is before:
            self.app.switch_screen(self._race)
        else:
            self.app.push_screen(self._race)

    def _choose_race(self) -> None:
        def chosen(choice: RaceChoice | None) -> None:
            if choice is not None:
                self.call_later(self.chat.race_again, choice.left, choice.right, choice.suite or "")

        races = self.chat.races
        self.app.push_screen(RaceMenu(races.left, races.right, self.chat.options.sizes), chosen)

    def _keep_race(self, question: str, sides: tuple[Recording, ...], verdict: tuple[str, ...]) -> None:
        model = self.chat.model
        assert model is not None, "there was a race without a model"
        content = Content(question, model, sides, verdict, view_of(self))
        name = default_name(f"race {question}", ".html")
        self.app.push_screen(PictureName(name, lambda name: save_picture(self, name, content)))

    def race_event(self, event: Event) -> None:
        if self._race is not None and self._race.is_on_stack:
            self._race.tell(event)

    def explain_began(self) -> None:
        if self.chat.model is not None:
            self._explanation = ExplainScreen(self.chat.model, self.chat.stop)
            self.app.push_screen(self._explanation)

    def explain_event(self, event: Event) -> None:
        if self._explanation is not None and self._explanation.is_on_stack:
            self._explanation.tell(event)

    def cleared(self) -> None:
        self.transcript.reset()
        self._turn_to(None)

    def conversation_opened(self) -> None:
        talk = self.chat.conversation
        waiting = self.chat.waiting
        kept = {asked.turn for asked in waiting}
        self.transcript.restore([turn for turn in talk.current.path if turn.id not in kept], talk.shown)
        for asked in waiting:
            self.transcript.say(asked.question)
        self._turn_to(talk.last_statistics)

    def _turn_to(self, statistics: Statistics | None) -> None:
        self.prompt.editing = None
        self._statistics, self._inspection, self._measuring = statistics, None, False
        self._show_debug()
        if self.chat.phase is Phase.READY:
            self.status.show(self._ready_parts())

    def failed(self, message: str) -> None:
        self.transcript.note(message, "error")

    def notice(self, text: str) -> None:
        self.transcript.note(text)

    def _told(self, text: str, kind: NoticeKind) -> None:
        """What the keeper tells; why not everything is saved stands there until everything is."""
        if text == SAVED_AGAIN:
            self.transcript.forget(self._unsaved)
            self.hint(text)
            return
        notice = self.transcript.note(text, kind)
        if text == self.keeper.trouble:
            self.transcript.forget(self._unsaved)
            self._unsaved = notice

    def _show_debug(self) -> None:
        if self._debug:
            self.query_one(DebugPanel).show(
                self._statistics,
                measuring=self._measuring,
                inspection=self._inspection,
                paused=self.chat.pacing.paused,
            )

    def _running_parts(self) -> list[Part]:
        """The figures of a reply that is being written, or stands still."""
        parts = reply_parts(self._statistics) if self._statistics is not None else []
        if self.chat.pacing.paused:
            return [part(0, self.key_names.put_into("paused: {pause} goes on, {step_once} takes one step")), *parts]
        return parts or [part(0, "reading the prompt")]

    def _ready_parts(self) -> list[Part]:
        model = self.chat.model
        parts = [part(0, "ready"), part(2, *options_forms(self.chat.options, model))]
        if self._statistics is not None and self._statistics.context_window:
            full = f"context {self._statistics.context_used}/{self._statistics.context_window}"
            parts.append(part(3, full, figure="context"))
        if model is not None and model.lookahead_supported:
            parts.append(part(1, *promise(model.dtype)))
        return parts
