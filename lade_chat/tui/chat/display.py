"""ChatDisplay: renders the controller's state and events on the chat screen's widgets."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.presentation.metrics import Part, counted, part, promise, reply_parts
from lade_chat.protocol.events import Event, Loading, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import ModelInfo, Statistics
from lade_chat.tui.chat.race_view import RaceView
from lade_chat.tui.chat.slow_motion import SlowMotion
from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.view import ChatState, Phase
from lade_chat.tui.conversations.session import OpenConversation, ShownTurn
from lade_chat.tui.conversations.store_worker import SAVED_AGAIN, Job
from lade_chat.tui.explain.screen import ExplainScreen
from lade_chat.tui.inspector.panel import DebugPanel
from lade_chat.tui.race.queue import Races
from lade_chat.tui.transcript.notice import Notice, NoticeKind
from lade_chat.tui.widgets.header_bar import HeaderBar
from lade_chat.tui.widgets.status_bar import HINT_SECONDS, REFUSAL_SECONDS

PAUSED = (
    "paused: {pause} goes on, {step_once} takes one step, {faster} goes on slowly",
    "paused: {pause} goes on, {step_once} takes one step",
)
PACED = ("{slower} slower, {faster} faster, {pause} pauses", "{slower} slower, {faster} faster")


class ChatDisplay:
    """The chat screen's ``ChatView``. The callables carry out what the user asks for on screens opened above it."""

    state: ChatState
    """Set before the screen is composed; the controller updates it."""

    def __init__(
        self,
        ui: ChatWidgets,
        stop: Job,
        race_again: Callable[..., None],
        explain: Callable[..., None],
        open_model: Callable[[str], None],
        read_ahead: Job,
        step: Job,
    ) -> None:
        self._ui = ui
        self._stop = stop
        self._open_model = open_model
        self._read_ahead = read_ahead
        self._slow_motion = SlowMotion(ui.screen, lambda *shown: ui.transcript.show_step(*shown), self._grow, step)
        self._race = RaceView(ui.screen, stop, race_again, explain)
        self._explanation: ExplainScreen | None = None
        self._statistics: Statistics | None = None
        self._inspection: Inspection | None = None
        self._measuring = False
        self._engine_gone: Notice | None = None
        self._unsaved: Notice | None = None
        """Both stand in the transcript as long as they are true."""

    def update(self, state: ChatState) -> None:
        before, self.state = self.state, state
        if state.options != before.options:
            self._ui.screen.query_one(HeaderBar).show_options(state.options)
        if state.sampling != before.sampling:
            self._ui.screen.query_one(HeaderBar).show_sampling(state.sampling)
        if (state.phase, state.paused, state.is_slow) != (before.phase, before.paused, before.is_slow):
            self._ui.screen.refresh_bindings()
        if state.conversation != before.conversation:
            self._ui.side_bar.look()
        if state.phase is Phase.READY:
            self._ui.status.show(self._ready_parts())
            if state.phase is not before.phase or state.conversation != before.conversation:
                self._read_ahead()
        elif state.stopping and not before.stopping:
            self._ui.status.show([part(0, "stopping")])
        elif state.phase is Phase.REPLYING and (state.paused, state.pace) != (before.paused, before.pace):
            self._ui.status.show(self._running_parts())
        self._slow_motion.update(state)
        if before.is_slow and not state.is_slow:
            self._ui.transcript.hide_steps()
        self._ui.screen.query_one(DebugPanel).display = state.options.debug
        self._ui.transcript.set_debug(state.options.debug)
        self._show_debug()

    def refuse(self, text: str) -> None:
        before = self.state.situation
        self._ui.status.hint(self._ui.key_names.put_into(text), lambda: self.state.situation == before)

    def hint(self, text: str, holds: Callable[[], bool] | None = None) -> None:
        self._ui.status.hint(text, holds or (lambda: True), REFUSAL_SECONDS if holds else HINT_SECONDS)

    @property
    def draft(self) -> str | None:
        return self._ui.prompt.text if self._ui.screen.app.screen is self._ui.screen else None

    def loading_began(self) -> None:
        self._ui.screen.query_one(HeaderBar).show_model(None, "loading the model")
        self._ui.status.begin_loading()
        self._ui.transcript.forget(self._engine_gone)

    def load_progressed(self, progress: Loading) -> None:
        self._ui.status.show_loading(progress)

    def model_ready(self, model: ModelInfo) -> None:
        self._ui.screen.query_one(HeaderBar).show_model(model)
        self._ui.transcript.model_notices.show(model.notices)

    def load_failed(self, message: str, kept: ModelInfo | None) -> None:
        key = self._ui.key_names.first("open_model")
        if kept is not None:
            self._ui.screen.query_one(HeaderBar).show_model(kept)
            self._ui.transcript.model_notices.show_failure(
                message, f"{kept.name} is still loaded. {key} opens another model."
            )
            return
        self._ui.screen.query_one(HeaderBar).show_model(None, "no model")
        self._ui.status.show([part(0, f"no model is loaded: {key} opens one")])
        self._ui.transcript.model_notices.show_failure(message, f"{key} opens another model.")
        if self.draft == "":
            self._open_model(message)

    def engine_lost(self, message: str) -> None:
        self._ui.screen.query_one(HeaderBar).show_model(None, "engine lost")
        key = self._ui.key_names.first("restart")
        long = f"the engine is gone: {key}, or your next message, starts it again"
        short = f"engine gone: {key} restarts it"
        self._ui.status.show([part(0, long, f"engine gone: {key} or a message restarts it", short)])
        remedy = f"The conversation is kept. {key}, or your next message, starts the engine and loads the model again."
        self._engine_gone = self._ui.transcript.model_notices.show_failure(message[:1].upper() + message[1:], remedy)

    def user_said(self, text: str | None) -> None:
        self._ui.transcript.say(text)

    def cut(self, turn: int) -> None:
        self._ui.transcript.cut(turn)

    def reply_began(self) -> None:
        self._ui.transcript.begin_reply()
        self._ui.side_bar.call_later(self._ui.side_bar.look)  # once the question is on its way to the disk
        self._statistics, self._inspection, self._measuring = None, None, self.state.options.debug
        self._ui.status.show(self._running_parts())
        self._show_debug()

    def reading(self, done: int, total: int) -> None:
        if not self.state.paused:
            self._ui.status.show_reading(done, total)

    def reply_grew(self, tokens: Tokens) -> None:
        if self.state.is_slow:
            self._slow_motion.take(tokens)
        else:
            self._grow(tokens)

    def _grow(self, tokens: Tokens) -> None:
        self._ui.transcript.grow_reply(tokens)
        self._statistics = tokens.statistics
        self._inspection = tokens.inspection or self._inspection
        if not self.state.stopping:
            self._ui.status.show(self._running_parts())
        self._show_debug()

    def reply_ended(self, finished: ReplyFinished) -> None:
        self._slow_motion.settle()
        self._statistics, self._measuring = finished.statistics, False
        self._ui.transcript.end_reply(finished)
        self._show_debug()

    def reply_failed(self, message: str | None) -> None:
        self._slow_motion.settle()
        self._measuring = False
        self._ui.transcript.fail_reply(message)
        self._show_debug()

    def turn_kept(self, turn: ShownTurn, conversation: OpenConversation) -> None:
        self._ui.side_bar.look()
        self._ui.transcript.keep_last(turn)
        self._ui.transcript.fold(conversation.turns, conversation.shown)

    def taken_back(self, question: str) -> None:
        self._ui.transcript.remove_waiting()
        self._ui.prompt.take_back(question)

    def give_back(self, question: str) -> None:
        if question and not self._ui.prompt.text:
            self._ui.prompt.put(question)

    def race_began(self, question: str, races: Races) -> None:
        self._race.begin(question, races, self.state)

    def race_event(self, event: Event) -> None:
        self._race.handle(event)

    def explain_began(self, model: ModelInfo) -> None:
        self._explanation = ExplainScreen(model, self._stop)
        self._ui.screen.app.push_screen(self._explanation)

    def explain_event(self, event: Event) -> None:
        if self._explanation is not None and self._explanation.is_on_stack:
            self._explanation.show_event(event)

    def cleared(self) -> None:
        self._ui.transcript.reset()
        self._show_statistics(None)

    def conversation_opened(self, conversation: OpenConversation) -> None:
        self._ui.transcript.restore(conversation.turns, conversation.shown)
        for question in conversation.waiting:
            self._ui.transcript.say(question)
        self._show_statistics(conversation.statistics)

    def _show_statistics(self, statistics: Statistics | None) -> None:
        """Show the statistics of another conversation's last reply."""
        self._ui.prompt.editing = None
        self._statistics, self._inspection, self._measuring = statistics, None, False
        self._show_debug()
        if self.state.phase is Phase.READY:
            self._ui.status.show(self._ready_parts())

    def failed(self, message: str) -> None:
        self._ui.transcript.note(message, "error")

    def notice(self, text: str) -> Job:
        notice = self._ui.transcript.note(text)
        return lambda: self._ui.transcript.forget(notice)

    def store_reported(self, text: str, kind: NoticeKind, trouble: str) -> None:
        """Show a report of the store's worker; that something is unsaved stands there until everything is saved."""
        if text == SAVED_AGAIN:
            self._ui.transcript.forget(self._unsaved)
            self._ui.hint(text)
            return
        notice = self._ui.transcript.note(text, kind)
        if text == trouble:
            self._ui.transcript.forget(self._unsaved)
            self._unsaved = notice

    def _show_debug(self) -> None:
        if self.state.options.debug:
            panel, ended = self._ui.screen.query_one(DebugPanel), self.state.phase is not Phase.REPLYING
            panel.show(self._statistics, self._inspection, self._measuring, paused=self.state.paused, ended=ended)

    def _running_parts(self) -> list[Part]:
        """Return the metrics of a reply in progress, or paused."""
        parts = reply_parts(self._statistics, lookahead=False) if self._statistics is not None else []
        if not self.state.is_slow:
            return parts or [part(0, "reading the prompt")]
        if self.state.paused:
            forms: tuple[str, ...] = PAUSED
        else:
            pace = f"{counted(int(self.state.pace or 0), 'step')} a second: "
            forms = tuple(f"{pace}{keys}" for keys in PACED)
        return [part(0, *map(self._ui.key_names.put_into, forms)), *parts]

    def _ready_parts(self) -> list[Part]:
        state = self.state
        parts = [part(0, "ready")]
        if state.paused:
            key = self._ui.key_names.first("pause")
            return [part(0, f"ready: the next reply starts paused; {key} takes that back", "ready, paused")]
        if self._statistics is not None and self._statistics.context_used and state.model is not None:
            full = f"context {self._statistics.context_used}/{state.model.context_window}"
            parts.append(part(3, full, metric="context"))
        if state.model is not None and state.model.lookahead_supported:
            parts.append(part(1, *promise(state.model.dtype, bit_exact=state.model.bit_exact)))
        return parts
