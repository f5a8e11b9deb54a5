"""The actions that keys, slash commands and menus lead to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.app import SuspendNotSupported

from lade_chat.errors import LadeChatError, NotYetError
from lade_chat.presentation.attachments import attach, parted
from lade_chat.presentation.metrics import counted
from lade_chat.protocol.values import Message, ModelOptions
from lade_chat.store.documents import to_markdown
from lade_chat.tui.app.preferences_owner import preferences_owner
from lade_chat.tui.app.signals import interrupts_left_alone
from lade_chat.tui.chat.conversation_actions import ConversationActions
from lade_chat.tui.chat.saving import default_name, save_as
from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.controller import Chat
from lade_chat.tui.conversations.store_worker import StoreWorker
from lade_chat.tui.explain.screen import QUESTION
from lade_chat.tui.prompt.completion import CompletableCommand, is_command, unescaped
from lade_chat.tui.prompt.external_editor import edit, editor_command
from lade_chat.tui.screens.manual import HelpScreen
from lade_chat.tui.screens.model import ModelScreen
from lade_chat.tui.terminal.clipboard import code_blocks, to_system_clipboard
from lade_chat.tui.theme.colouring import view_of
from lade_chat.tui.transcript.turn import Turn
from lade_chat.tui.transcript.turn_menu import TurnAction, TurnMenu


class ChatActions:
    """Actions on the chat screen; ``conversations`` has those on whole conversations. The manual lists ``commands``."""

    def __init__(
        self, ui: ChatWidgets, chat: Chat, store_worker: StoreWorker, commands: Sequence[CompletableCommand]
    ) -> None:
        self.ui = ui
        self.chat = chat
        self.conversations = ConversationActions(ui, chat, store_worker)
        self._commands = commands
        self._data_folder = store_worker.store.path.parent

    def run(self, action: str) -> None:
        """Run an action of the application, such as ``app.quit``."""
        self.ui.screen.call_later(self.ui.screen.app.run_action, action)

    # --- turns -------------------------------------------------------------------------------------------------

    def open_turn_menu(self, turn: Turn) -> None:
        """Offer what can be done with a turn."""
        if turn.kept is None:
            self.ui.hint("This turn is not in the conversation yet.")
            return
        number = turn.kept.turn.id
        has_code = bool(code_blocks(self.chat.conversation.whole_reply(number)))
        self.ui.screen.app.push_screen(TurnMenu(turn.kept, has_code=has_code), partial(self._act_on, number))

    def _act_on(self, turn: int, action: TurnAction | None) -> None:
        session = self.chat.conversation
        match action:
            case "copy":
                self.copy(session.whole_reply(turn), "the reply")
            case "code":
                self.copy("\n\n".join(code_blocks(session.whole_reply(turn))), "the code")
            case "message":
                self.copy(parted(session.current.turn(turn).question or "")[0], "the message")
            case "retry":
                self.chat.questions.retry(turn)
            case "edit":
                self.edit(turn)
            case "branch":
                self.chat.navigation.branch(session.whole(turn)[-1].id)
            case "before" | "after":
                self.chat.navigation.switch(turn, -1 if action == "before" else 1)
                return  # the focus stays on the turn, to go through its alternatives
            case None:
                return  # or to go on to another
        self.ui.prompt.focus()

    def race(self, text: str = "") -> None:
        """Race over a question as it would be asked, with its files.

        Without ``text`` that is what stands in the prompt, unless it is a command; else the last question. Raises
        AttachmentError.
        """
        draft = self.ui.prompt.message
        if not text.strip() and not is_command(draft):
            text = draft
        self.chat.races.begin(attach(unescaped(text)))

    def edit(self, turn: int | None = None) -> None:
        """Put a question, by default the last, into the prompt: the next message replaces it."""
        if turn is None and (waited := self.chat.questions.take_back()) and waited.is_message:  # it was not asked yet
            return
        path = self.chat.conversation.current.path
        asked = [(each.id, each.question) for each in path if each.question is not None and turn in (None, each.id)]
        if not asked:
            self.ui.hint("There is no question to edit yet.")
        else:
            last, question = asked[-1]
            self.ui.prompt.revise(last, parted(question)[0])

    def copy(self, text: str, what: str) -> None:
        """Copy a text to the clipboard, and report it as ``what``."""
        screen = self.ui.screen
        screen.app.copy_to_clipboard(text)
        screen.run_worker(partial(to_system_clipboard, text), thread=True, group="copying")
        self.ui.hint(f"Copied {what}: {counted(len(text), 'character')}.")

    def copy_last(self, what: str = "") -> None:
        """Copy the last reply, its ``code``, or ``all`` of the conversation. Raises ValueError, NotYetError."""
        if what not in ("", "code", "all"):
            raise ValueError("Use /copy, /copy code, or /copy all.")
        session = self.chat.conversation
        asked = [turn.id for turn in session.current.path if turn.question is not None and turn.reply]
        reply = session.whole_reply(asked[-1]) if asked else ""
        blocks = code_blocks(reply)
        if not reply:
            raise NotYetError("There is no reply to copy yet.")
        if what == "code" and not blocks:
            raise NotYetError("There is no code block in the last reply.")
        if what == "all":
            self.copy(to_markdown(session.current), "the conversation")
        elif what == "code":
            self.copy("\n\n".join(blocks), "the code")
        else:
            self.copy(reply, "the reply")

    def save(self, name: str, suffix: str) -> None:
        """Save the conversation or a picture of its last reply, as the name's suffix says. Raises LadeChatError."""
        conversation = self.chat.conversation.current
        name = name or default_name(conversation.title, suffix)
        save_as(self.ui.screen, conversation, name, suffix, view_of(self.ui.screen), self.ui.hint)

    # --- dialogs and views -------------------------------------------------------------------------------------

    def edit_outside(self) -> None:
        """Edit the message in the user's editor; the screen is suspended meanwhile."""
        screen, prompt = self.ui.screen, self.ui.prompt
        try:
            command = editor_command()
            with screen.app.suspend(), interrupts_left_alone():
                text = edit(prompt.message, command)
        except LadeChatError as error:
            self.ui.hint(str(error))
        except SuspendNotSupported:
            self.ui.hint("An editor cannot be opened here.")
        else:
            prompt.put(text)
        screen.refresh(layout=True)

    def explain(self) -> None:
        """Show how lookahead decoding works, on steps of the loaded model."""
        self.chat.explanations.begin((Message("user", QUESTION),))

    def open_model(self, error: str = "") -> None:
        """Open the model dialog, which shows ``error``."""

        def chosen(options: ModelOptions | None) -> None:
            if options is not None:
                self.chat.load(options)

        aliases = preferences_owner(self.ui.screen).preferences.aliases
        self.ui.screen.app.push_screen(ModelScreen(self.chat.model_options, self._data_folder, error, aliases), chosen)

    def toggle_debug(self) -> None:
        """Open or close the debug panel."""
        self.chat.controls.set_debug(not self.chat.options.debug)

    def toggle_view(self, _: str = "") -> None:
        """Show replies as rendered Markdown, or token by token."""
        self.ui.hint(self.ui.transcript.toggle_view())

    def toggle_thoughts(self) -> None:
        """Open or fold the model's thoughts."""
        if not self.ui.transcript.toggle_thoughts():
            self.ui.hint("There are no thoughts to open in this conversation.")

    def help(self, topic: str = "") -> None:
        """Open the manual, at the page for ``topic``."""
        self.ui.screen.app.push_screen(HelpScreen(self.chat.model, topic, self._commands))

    def page(self, direction: int) -> None:
        """Scroll the transcript by a page; at its top, show earlier turns."""
        transcript = self.ui.transcript
        if direction > 0:
            transcript.action_page_down()
        elif transcript.scroll_y > 0 or not transcript.show_earlier():
            transcript.action_page_up()
