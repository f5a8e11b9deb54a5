"""The chat screen: its widgets, and the keys and messages that lead to decisions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.events import Key, Resize, ScreenResume, ScreenSuspend
from textual.timer import Timer
from textual.widgets import OptionList, TextArea

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import attach
from lade_chat.presentation.status_parts import part
from lade_chat.store.reply_saver import SAVE_SECONDS
from lade_chat.tui.chat import actions
from lade_chat.tui.chat import stored_conversations as stored
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.decisions import controls, navigation, questions
from lade_chat.tui.chat.effects import Effect
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.chat.performer import Performer
from lade_chat.tui.chat.slash_commands import COMMANDS, open_help
from lade_chat.tui.chat.slash_dispatch import refuse, submit
from lade_chat.tui.chat.view import draw, footer_actions
from lade_chat.tui.conversations.conversation_session import NEW
from lade_chat.tui.key_map import CHAT_KEYS
from lade_chat.tui.prompt.completion import CompletionList, is_command, unescaped
from lade_chat.tui.prompt.editor import PromptEditor
from lade_chat.tui.transcript.turn_view import TurnView
from lade_chat.tui.widgets.bars import KeyFooter

PAUSE_SECONDS = 0.3
"""Pause in typing after which the draft is kept, and read ahead."""


def _decided(decision: Callable[..., object], *arguments: int) -> Callable[[LoopScreen], None]:
    """Return the method of a key that only leads to a decision."""
    return lambda screen: screen.decide(decision, *arguments)


class ChatScreen(LoopScreen):
    """Every key works while the prompt has the focus."""

    AUTO_FOCUS = "PromptEditor"
    BINDINGS: ClassVar[list[BindingType]] = CHAT_KEYS
    start = NEW
    """The conversation to begin with."""
    _pause: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self.header
        with Container(id="body"):
            yield self.side_bar
            yield self.transcript
            if self.state.options.debug:
                yield self.panel
        yield self.status
        yield (completions := CompletionList())
        yield PromptEditor(COMMANDS, completions)
        yield KeyFooter(footer_actions(self.state))

    def on_mount(self) -> None:
        self.transcript.set_debug(self.state.options.debug)
        self.side_bar.show_here(self.conversation.id)
        self.prompt.has_waiting = lambda: bool(self.state.waiting)
        self.prompt.leaves = self._is_pace_key
        self.watch(self.transcript, "goes_on", self.prompt.tell_below)
        self.status.show([part(0, "starting")])
        self.set_interval(SAVE_SECONDS, self.save)
        stored.begin_with(self, self.start)

    def perform(self, effect: Effect) -> None:
        effect.on(Performer(self))

    def draw(self, before: ChatState) -> None:
        draw(self, before)
        freed = self.state.phase is not before.phase or self.state.conversation.id != before.conversation.id
        if self.state.phase is Phase.READY and freed:
            self.read_soon()

    def save(self) -> None:
        """Save a running reply, and anything that could not be written before."""
        if self.state.phase is Phase.REPLYING or self.store_worker.store.unsaved:
            self.decide(navigation.save)

    # --- what is typed -----------------------------------------------------------------------------------------

    @on(PromptEditor.Submitted)
    def _submit(self, event: PromptEditor.Submitted) -> None:
        submit(self, event.text)

    @on(OptionList.OptionSelected, "Welcome OptionList")
    def _submit_example(self, event: OptionList.OptionSelected) -> None:
        """Send an example, and leave a draft in the prompt."""
        draft, text = self.prompt.text, str(event.option_id)
        if not is_command(text):  # what a command opens leads back to the examples
            self.prompt.focus()
        submit(self, text)
        if not self.prompt.text:
            self.prompt.put(draft)

    @on(TextArea.Changed)
    def _typed(self) -> None:
        self.read_soon()
        if not self.prompt.text:  # sent, perhaps: it should not come back
            stored.keep_unsent(self)
        if self.state.phase is Phase.REPLYING and len(self.prompt.text) < 2:
            self.refresh_bindings()
        self.prompt.offer_completions()
        self.status.review()

    def read_soon(self) -> None:
        """Have the model read the conversation and the draft, once nothing has been typed for a moment."""
        if self._pause is not None:
            self._pause.stop()
        self._pause = self.set_timer(PAUSE_SECONDS, self._has_paused)

    def _has_paused(self) -> None:
        stored.keep_unsent(self)
        self.read_ahead(self.prompt.message)

    def read_ahead(self, typed: str) -> None:
        """Have the model read what is typed, with the files that it names."""
        with suppress(LadeChatError):  # the file's name is not whole yet
            self.decide(questions.read_ahead, "" if is_command(typed) else attach(unescaped(typed)))

    @on(PromptEditor.Folded)
    def _tell_of_fold(self) -> None:
        prompt = self.prompt
        self.status.hint("Tab opens a folded paste; it is sent whole.", lambda: prompt.message != prompt.text)

    @on(PromptEditor.TakeBackWanted)
    def _take_back(self) -> None:
        self.decide(questions.take_back)

    @on(OptionList.OptionSelected, "CompletionList")
    def _complete(self) -> None:
        self.prompt.complete()
        self.prompt.focus()

    def on_resize(self, event: Resize) -> None:
        """Leave most of the screen to the transcript, however long a draft is."""
        rows = event.size.height
        self.header.display, self.query_one(KeyFooter).display = rows > 4, rows > 3  # the prompt is more important
        self.prompt.limit_height(rows)
        self.query_one(CompletionList).limit_height(rows)

    def on_key(self, event: Key) -> None:
        """Type into the prompt, whichever widget that knows nothing of the key has the focus."""
        types = event.is_printable and event.character and not event.key.startswith("alt+")
        if types and event.character and self.focused is not self.prompt:
            self.prompt.focus().insert(event.character)

    # --- turns and conversations -------------------------------------------------------------------------------

    @on(OptionList.OptionSelected, "SideBar")
    def _resume(self, event: OptionList.OptionSelected) -> None:
        stored.resume(self, str(event.option_id))

    def action_go_beside(self, turn: int, direction: int) -> None:
        self.decide(navigation.go_beside, turn, direction)

    def action_step(self, direction: int) -> None:
        """Go to the turn before or after the one that has the focus, behind the last one to the prompt."""

        def step(turn: TurnView) -> None:
            if not self.transcript.step(turn, direction) and direction > 0:
                self.prompt.focus()

        if isinstance(self.focused, TurnView):
            self._with_turn(self.focused, step)

    @on(TurnView.MenuWanted)
    def _open_menu(self, event: TurnView.MenuWanted) -> None:
        self._with_turn(event.turn, lambda turn: actions.open_turn_menu(self, turn, event.place))

    def _with_turn(self, turn: TurnView, act: Callable[[TurnView], None]) -> None:
        """Act on a turn; where another alternative takes its place, on the turn focused once that is shown."""

        def act_on_focused(_: None = None) -> None:
            act(self.focused if isinstance(self.focused, TurnView) else turn)

        if self.store_worker.busy:
            self.store_worker.look_up(lambda: None, act_on_focused)
        elif turn.display:
            act(turn)
        else:  # replaced between the key and its message
            act_on_focused()

    # --- keys --------------------------------------------------------------------------------------------------

    action_help = open_help
    action_list_conversations = stored.open_list
    action_open_model = actions.open_model
    action_edit_outside = actions.edit_outside
    action_take_next = actions.take_next
    action_toggle_thoughts = actions.toggle_thoughts
    action_page = actions.turn_page
    action_toggle_lookahead = _decided(controls.switch_lookahead)
    action_toggle_debug = _decided(controls.toggle_debug)
    action_new_conversation = _decided(navigation.new_conversation)
    action_restart = _decided(questions.restart)
    action_pause = _decided(controls.pause)
    action_step_once = _decided(controls.step)
    action_slower = _decided(controls.change_pace, -1)
    action_faster = _decided(controls.change_pace, 1)

    def action_stop(self) -> None:
        """Close what is open, else have Esc take a message back or stop the reply."""
        if self._close_something():
            self.decide(controls.escape_closed)
        else:
            self.decide(controls.press_escape, bool(self.prompt.text))

    def _close_something(self) -> bool:
        """Close or leave what stands between Esc and the reply; False if nothing does."""
        if self.query_one(CompletionList).close():
            return True
        if self.selections:
            self.clear_selection()
            return True
        had_focus, reads_back = self.prompt.has_focus, isinstance(self.focused, TurnView)
        if had_focus and self.prompt.editing is not None:
            actions.drop_draft(self)
            return True
        self.prompt.focus()
        return reads_back or (not had_focus and bool(self.state.waiting))

    def action_race(self) -> None:
        """Race the draft, or else the last question."""
        try:
            actions.race(self)
        except LadeChatError as error:
            refuse(self, str(error))

    def action_turn_debug_page(self) -> None:
        """Open the debug panel, turn its page, or close it after the last."""
        if not self.state.options.debug or not self.panel.turn_page():
            self.action_toggle_debug()

    def _is_pace_key(self, key: str) -> bool:
        keys = self.key_names.keys
        return any(key in keys[each].split(",") and self.check_action(each, ()) for each in ("slower", "faster"))

    def action_toggle_view(self) -> None:
        self.hint(self.transcript.toggle_view())

    @on(ScreenSuspend)
    def _be_covered(self) -> None:
        """A dialog tells its own keys, and has the only cursor."""
        self.query_one(KeyFooter).visible = False
        self.prompt.add_class("-covered")

    @on(ScreenResume)
    def _be_uncovered(self) -> None:
        footer = self.query_one(KeyFooter)
        if not footer.visible:  # else this is the first time
            self.decide(controls.escape_closed)
        footer.visible = True
        self.prompt.remove_class("-covered")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer Restart only when the engine is lost, and another pace only in slow motion."""
        if action in ("slower", "faster"):
            return controls.takes_pace_key(self.state, monotonic(), 1 if action == "faster" else -1)
        return self.state.phase is Phase.LOST if action == "restart" else True
