"""What the user does on the main screen: its keys, and what they lead to."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from textual.app import SuspendNotSupported
from textual.binding import Binding, BindingType

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import AttachmentError, attach, parted
from lade_chat.presentation.metrics import counted
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.documents.markdown import to_markdown
from lade_chat.tui.app.key_names import named
from lade_chat.tui.chat.command_actions import run
from lade_chat.tui.chat.commands import is_command, literal
from lade_chat.tui.chat.phase import Phase
from lade_chat.tui.conversations.keys import ConversationKeys
from lade_chat.tui.explain.screen import QUESTION
from lade_chat.tui.prompt.completion_list import CompletionList
from lade_chat.tui.prompt.editor import Prompt
from lade_chat.tui.prompt.external_editor import edit, editor_command
from lade_chat.tui.screens.manual import HelpScreen
from lade_chat.tui.screens.model import ModelScreen
from lade_chat.tui.terminal.clipboard import code_blocks, to_system_clipboard
from lade_chat.tui.transcript.alternatives import Alternatives
from lade_chat.tui.transcript.turn import Turn
from lade_chat.tui.transcript.turn_menu import Deed, TurnMenu
from lade_chat.tui.transcript.welcome import Welcome


class ChatKeys(ConversationKeys):
    """Every key works while the prompt has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = named(
        [
            Binding("ctrl+l,f2", "toggle_lookahead", "Lookahead", priority=True),
            Binding("ctrl+r,f3", "race", "Race", priority=True),
            Binding("escape", "stop", "Stop", priority=True),
            Binding("f6", "restart", "Restart", priority=True),
            Binding("f1", "help", "Help", priority=True),
            Binding("ctrl+q", "app.quit", "Quit", priority=True),
            Binding("ctrl+d", "toggle_debug", "Debug", priority=True),
            Binding("f4", "turn_debug", "Debug page", priority=True, show=False),
            Binding("ctrl+n", "new_conversation", "New", priority=True),
            Binding("ctrl+t,f8", "list_conversations", "Chats", priority=True),
            Binding("ctrl+o", "open_model", "Model", priority=True),
            Binding("ctrl+g", "edit_outside", "Editor", priority=True, show=False),
            Binding("f9", "pause", "Pause", priority=True, show=False),
            Binding("f10", "step_once", "Step", priority=True, show=False),
            Binding("f7", "toggle_view", "View", priority=True, show=False),
            Binding("f5", "toggle_thoughts", "Thoughts", priority=True, show=False),
            Binding("pageup", "page(-1)", show=False, priority=True),
            Binding("pagedown", "page(1)", show=False, priority=True),
        ]
    )

    # --- saying ------------------------------------------------------------------------------------------------

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        """A command is carried out; anything else is asked, with the files that it mentions."""
        text = event.text
        if not text.strip():
            nothing = "Nothing to send yet: type a message first."
            self.status.hint(nothing, lambda: not self.prompt.text.strip())
            return
        if is_command(text):
            self.prompt.clear_all()
            if run(self, text):
                self.prompt.remember(text)
            else:
                self.prompt.put(text)
            return
        try:
            question = attach(literal(text))
        except AttachmentError as error:
            self.hint(str(error))
            return
        if self.chat.submit(question, self.prompt.editing):
            self.prompt.remember(text)
            self.prompt.clear_all()

    def on_text_area_changed(self) -> None:
        self.prompt.offer_completions()
        self.status.review()

    def on_completion_list_chosen(self) -> None:
        self.prompt.complete()
        self.prompt.focus()

    def action_edit_outside(self) -> None:
        """Write in an editor of one's own; the screen waits for it."""
        try:
            command = editor_command()
            with self.app.suspend():
                text = edit(self.prompt.text, command)
        except LadeChatError as error:
            self.hint(str(error))
        except SuspendNotSupported:
            self.hint("An editor cannot be opened here.")
        else:
            self.prompt.put(text)
        self.refresh(layout=True)

    def on_welcome_picked(self, event: Welcome.Picked) -> None:
        if self.chat.submit(event.text):
            self.prompt.remember(event.text)
        self.prompt.focus()

    def action_stop(self) -> None:
        """Esc closes what is open first: the list of completions, an edit; then it stops the reply."""
        if self.query_one(CompletionList).close():
            return
        if self.focused is self.prompt and self.prompt.editing is not None:
            self.prompt.clear_all()
            return
        self.prompt.focus()
        self.chat.stop()

    # --- turns -------------------------------------------------------------------------------------------------

    def on_alternatives_wanted(self, event: Alternatives.Wanted) -> None:
        self.chat.switch(event.turn, event.direction)

    def on_turn_stepped(self, event: Turn.Stepped) -> None:
        if not self.transcript.step(event.turn, event.direction) and event.direction > 0:
            self.prompt.focus()

    def on_turn_menu_wanted(self, event: Turn.MenuWanted) -> None:
        turn = event.turn
        if turn.kept is None:
            self.hint("This turn is not in the conversation yet.")
        else:
            self.app.push_screen(
                TurnMenu(turn.kept, has_code=bool(code_blocks(self.chat.conversation.whole_reply(turn.kept.turn.id)))),
                partial(self._do, turn.kept.turn.id),
            )

    def _do(self, turn: int, deed: Deed | None) -> None:
        match deed:
            case "copy":
                self.copy(self.chat.conversation.whole_reply(turn), "the reply")
            case "code":
                self.copy("\n\n".join(code_blocks(self.chat.conversation.whole_reply(turn))), "the code")
            case "retry":
                self.chat.retry(turn)
            case "edit":
                self.edit(turn)
            case "branch":
                self.chat.branch(self.chat.conversation.whole(turn)[-1].id)
            case "before" | "after":
                self.chat.switch(turn, -1 if deed == "before" else 1)
                return  # who looks through them stays there
        self.prompt.focus()

    def edit(self, turn: int | None = None) -> None:
        """Put a question (the last one) into the prompt: what is sent then takes its place."""
        path = self.chat.conversation.current.path
        asked = [each for each in path if each.question is not None and turn in (None, each.id)]
        if not asked or asked[-1].question is None:
            self.hint("There is no question to edit yet.")
        else:
            self.prompt.revise(asked[-1].id, parted(asked[-1].question)[0])

    def copy(self, text: str, what: str) -> None:
        """Hand a text to other programs, and say so."""
        self.app.copy_to_clipboard(text)
        self.run_worker(partial(to_system_clipboard, text), thread=True, group="copying")
        self.hint(f"Copied {what}: {counted(len(text), 'character')}.")

    def copy_last(self, what: str) -> None:
        """Copy the last reply, its ``code``, or ``all`` of the conversation. Raises ValueError if there is none."""
        current = self.chat.conversation.current
        asked = [turn.id for turn in current.path if turn.question is not None and turn.reply]
        reply = self.chat.conversation.whole_reply(asked[-1]) if asked else ""
        blocks = code_blocks(reply)
        if not reply:
            raise ValueError("There is no reply to copy yet.")
        if what == "code" and not blocks:
            raise ValueError("There is no code block in the last reply.")
        if what == "all":
            self.copy(to_markdown(current), "the conversation")
        elif what == "code":
            self.copy("\n\n".join(blocks), "the code")
        else:
            self.copy(reply, "the reply")

    def action_copy_last(self, what: str = "") -> None:
        try:
            self.copy_last(what)
        except ValueError as error:
            self.hint(str(error))

    # --- the model, and what is shown --------------------------------------------------------------------------

    def action_toggle_lookahead(self) -> None:
        self.chat.toggle_lookahead()

    def action_race(self) -> None:
        self.chat.race(self.prompt.text)

    def action_explain(self) -> None:
        """How lookahead decoding works, on steps that the model takes for it."""
        self.chat.explain(QUESTION)

    def action_restart(self) -> None:
        self.chat.restart()

    def action_open_model(self, error: str = "") -> None:
        self.app.push_screen(
            ModelScreen(self.chat.model_options, self.keeper.store.path.parent, error), self._model_chosen
        )

    def _model_chosen(self, options: ModelOptions | None) -> None:
        if options is not None:
            self.chat.load(options)

    def action_toggle_debug(self) -> None:
        """Open or close the debug panel."""
        raise NotImplementedError

    def action_turn_debug(self) -> None:
        """Open the debug panel, or turn its page."""
        raise NotImplementedError

    def action_pause(self) -> None:
        self.chat.pause()

    def action_step_once(self) -> None:
        self.chat.pause(step=True)

    def action_toggle_view(self) -> None:
        self.hint(self.transcript.toggle_view())

    def action_toggle_colours(self) -> None:
        """Colour verified tokens alike, or each by its source."""
        self.call_later(self.app.run_action, "app.toggle_colours")

    def action_toggle_thoughts(self) -> None:
        if not self.transcript.toggle_thoughts():
            self.hint("There are no thoughts to open in this conversation.")

    def action_help(self, topic: str = "") -> None:
        self.app.push_screen(HelpScreen(self.chat.model, topic))

    def action_page(self, direction: int) -> None:
        if direction > 0:
            self.transcript.action_page_down()
        elif self.transcript.scroll_y > 0 or not self.transcript.show_earlier():
            self.transcript.action_page_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Restart is offered only when there is something to restart."""
        return self.chat.phase is Phase.LOST if action == "restart" else True
