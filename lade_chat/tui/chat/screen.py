"""The chat screen: its widgets, and the keys and messages that lead to actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Key, Resize
from textual.screen import Screen
from textual.timer import Timer

from lade_chat.presentation.metrics import part
from lade_chat.protocol.commands import Command
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.store.running_reply import SAVE_SECONDS
from lade_chat.store.store import Store
from lade_chat.tui.chat.actions import ChatActions
from lade_chat.tui.chat.commands import COMMANDS
from lade_chat.tui.chat.display import ChatDisplay
from lade_chat.tui.chat.escape import EscapeKey
from lade_chat.tui.chat.keys import KEYS
from lade_chat.tui.chat.submission import Submission
from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.controller import Chat
from lade_chat.tui.control.view import Phase, footer_actions
from lade_chat.tui.conversations.session import Start
from lade_chat.tui.conversations.side_bar import SideBar
from lade_chat.tui.conversations.store_worker import StoreWorker
from lade_chat.tui.inspector.panel import DebugPanel
from lade_chat.tui.prompt.completion_list import CompletionList
from lade_chat.tui.prompt.editor import Prompt
from lade_chat.tui.prompt.read_ahead import PAUSE_SECONDS
from lade_chat.tui.transcript.column import Transcript
from lade_chat.tui.transcript.turn import Alternatives, Turn
from lade_chat.tui.transcript.welcome import Welcome
from lade_chat.tui.widgets.header_bar import HeaderBar
from lade_chat.tui.widgets.key_footer import KeyFooter
from lade_chat.tui.widgets.status_bar import StatusBar


class ChatScreen(Screen[None]):
    """Every key works while the prompt has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = KEYS

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
        self.ui = ChatWidgets(self)
        self.store_worker = StoreWorker(
            store, self.call_later, lambda text, kind: self.view.store_reported(text, kind, self.store_worker.trouble)
        )
        options = msgspec.structs.replace(decoding_options, debug=debug)
        self.view = ChatDisplay(
            self.ui,
            stop=lambda: self.chat.controls.stop(),
            race_again=lambda *methods: self.chat.races.again(*methods),
            explain=lambda messages, **how: self.chat.explanations.begin(messages, **how),
            open_model=lambda error: self.actions.open_model(error),
            read_ahead=self.read_ahead,
            step=lambda: self.chat.controls.step(),
        )
        self.chat = Chat(self.view, self.store_worker, send, restart, model_options, options, system)
        self.view.state = self.chat.state
        self.actions = ChatActions(self.ui, self.chat, self.store_worker, COMMANDS)
        self._submission = Submission(self.ui, self.chat, self.actions)
        self.side_bar = SideBar(self.store_worker, self.chat.conversation, self.actions.conversations.resume)
        self._start = start
        self._escape = EscapeKey(self.ui, self.chat)
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        yield HeaderBar(self.chat.state.options, self.chat.state.sampling)
        with Container(id="body"):
            yield self.side_bar
            yield Transcript()
            yield DebugPanel()
        yield StatusBar()
        yield CompletionList()
        yield Prompt(COMMANDS)
        yield KeyFooter(lambda: footer_actions(self.chat.state))

    def on_mount(self) -> None:
        self.query_one(DebugPanel).display = self.chat.state.options.debug
        self.transcript.set_debug(self.chat.state.options.debug)
        self.prompt.completions = self.query_one(CompletionList)
        self.prompt.has_waiting = lambda: self.chat.has_waiting
        self.prompt.leaves = self._is_pace_key
        self.prompt.focus()
        self.status.show([part(0, "starting")])
        self.set_interval(SAVE_SECONDS, self.chat.tick)
        self.actions.conversations.begin_with(self._start)

    @property
    def transcript(self) -> Transcript:
        return self.ui.transcript

    @property
    def prompt(self) -> Prompt:
        return self.ui.prompt

    @property
    def status(self) -> StatusBar:
        return self.ui.status

    # --- messages of widgets -----------------------------------------------------------------------------------

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        self._submission.send(event.text)

    def on_resize(self, event: Resize) -> None:
        """Leave most of the screen to the transcript, however long a draft is."""
        self.prompt.limit_height(event.size.height)
        if self.prompt.completions is not None:
            self.prompt.completions.limit_height(event.size.height)

    def on_text_area_changed(self) -> None:
        self.read_ahead()
        if self.chat.phase is Phase.REPLYING and len(self.prompt.text) < 2:
            self.refresh_bindings()
        self.prompt.offer_completions()
        self.status.review()

    def on_key(self, event: Key) -> None:
        """Type into the prompt, whichever widget that knows nothing of the key has the focus."""
        types = event.is_printable and event.character and not event.key.startswith("alt+")
        if types and event.character and self.focused is not self.prompt:
            self.prompt.focus().insert(event.character)

    def on_prompt_folded(self) -> None:
        self.status.hint("Tab opens a folded paste; it is sent whole.", lambda: self.prompt.has_folds)

    def on_prompt_take_back_wanted(self) -> None:
        self.chat.questions.take_back()

    def read_ahead(self) -> None:
        """Have the model read the conversation and the draft, once nothing has been typed for a moment."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_SECONDS, lambda: self.chat.ahead.read(self.prompt.message))

    def on_completion_list_chosen(self) -> None:
        self.prompt.complete()
        self.prompt.focus()

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        self._submission.send_example(event.text)

    def on_alternatives_wanted(self, event: Alternatives.Wanted) -> None:
        self.chat.navigation.switch(event.turn, event.direction)

    def on_turn_stepped(self, event: Turn.Stepped) -> None:
        def step(turn: Turn) -> None:
            if not self.transcript.step(turn, event.direction) and event.direction > 0:
                self.prompt.focus()

        self._with_turn(event.turn, step)

    def on_turn_menu_wanted(self, event: Turn.MenuWanted) -> None:
        self._with_turn(event.turn, self.actions.open_turn_menu)

    def _with_turn(self, turn: Turn, act: Callable[[Turn], None]) -> None:
        """Act on a turn; where another alternative takes its place, on the turn focused once that is shown."""

        def act_on_focused(_: None = None) -> None:
            act(self.focused if isinstance(self.focused, Turn) else turn)

        if self.store_worker.busy:
            self.store_worker.look_up(lambda: None, act_on_focused)
        elif turn.display:
            act(turn)
        else:  # replaced between the key and its message
            act_on_focused()

    # --- keys --------------------------------------------------------------------------------------------------

    def action_stop(self) -> None:
        self._escape.press()

    def action_toggle_lookahead(self) -> None:
        self.chat.controls.toggle_lookahead()

    def action_race(self) -> None:
        self._submission.race()

    def action_restart(self) -> None:
        self.chat.restart()

    def action_help(self) -> None:
        self.actions.help()

    def action_toggle_debug(self) -> None:
        self.actions.toggle_debug()

    def action_turn_debug_page(self) -> None:
        """Open the debug panel, turn its page, or close it after the last."""
        if not self.chat.state.options.debug or not self.query_one(DebugPanel).turn_page():
            self.actions.toggle_debug()

    def action_new_conversation(self) -> None:
        self.chat.navigation.new_conversation()

    def action_list_conversations(self) -> None:
        self.actions.conversations.open_list()

    def action_open_model(self) -> None:
        self.actions.open_model()

    def action_edit_outside(self) -> None:
        self.actions.edit_outside()

    def action_pause(self) -> None:
        self.chat.controls.pause()

    def action_step_once(self) -> None:
        self.chat.controls.pause(step=True)

    def action_slower(self) -> None:
        self.chat.controls.change_pace(-1)

    def action_faster(self) -> None:
        self.chat.controls.change_pace(1)

    def _is_pace_key(self, key: str) -> bool:
        keys = self.ui.key_names.keys
        return any(key in keys[each].split(",") and self.check_action(each, ()) for each in ("slower", "faster"))

    def action_toggle_view(self) -> None:
        self.actions.toggle_view()

    def action_toggle_thoughts(self) -> None:
        self.actions.toggle_thoughts()

    def action_page(self, direction: int) -> None:
        self.actions.page(direction)

    def on_screen_suspend(self) -> None:
        """A dialog tells its own keys, and has the only cursor."""
        self.query_one(KeyFooter).visible = False
        self.prompt.add_class("-covered")

    def on_screen_resume(self) -> None:
        footer = self.query_one(KeyFooter)
        if not footer.visible:  # else this is the first time
            self._escape.closed()
        footer.visible = True
        self.prompt.remove_class("-covered")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer Restart only when the engine is lost, and another pace only in slow motion."""
        if action == "slower":
            return self.chat.controls.takes_slower_key
        if action == "faster":
            return self.chat.controls.takes_pace_keys
        return self.chat.phase is Phase.LOST if action == "restart" else True
