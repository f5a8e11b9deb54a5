"""What the user does with whole conversations on the main screen."""

from __future__ import annotations

from textual.screen import Screen

from lade_chat.presentation.sanitize import printable
from lade_chat.store.conversation import Conversation
from lade_chat.store.errors import StoreError
from lade_chat.tui.app.key_names import KeyNames, keys_of
from lade_chat.tui.app.start import Start
from lade_chat.tui.chat.controller import Chat
from lade_chat.tui.conversations.screen import ConversationList
from lade_chat.tui.conversations.store_worker import Keeper
from lade_chat.tui.prompt.editor import Prompt
from lade_chat.tui.transcript.column import Transcript
from lade_chat.tui.widgets.status_bar import StatusBar

FIRST_SECONDS = 0.5
"""How long the first picture waits for the conversation that is to be in it; it is usually there within some ms."""


class ConversationKeys(Screen[None]):
    """The lower half of ``ChatKeys``, which has the keys."""

    chat: Chat
    keeper: Keeper
    deleted: list[str]
    """Conversations that were deleted since the chat was opened, and may be brought back."""
    _looking = False
    """Whether a conversation is being looked for by words."""
    _meant: tuple[str, str | None] = ("", None)
    """For what the list is to be searched when it is opened next, and the system prompt that goes with it."""

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
    def key_names(self) -> KeyNames:
        return keys_of(self)

    def hint(self, text: str) -> None:
        """A word that goes away by itself."""
        self.status.hint(text)

    def action_new_conversation(self) -> None:
        self.chat.new_conversation()

    def action_list_conversations(self, search: str = "", system: str | None = None) -> None:
        if not search:
            search, system = self._meant
        self._meant = ("", None)
        model = self.chat.model.name if self.chat.model is not None else ""
        listed = ConversationList(self.keeper, self.chat.conversation, self.deleted, search, model)

        def left(chosen: str | None) -> None:
            if self.chat.conversation.current.id in self.deleted:
                self.chat.new_conversation()
            if chosen is not None:
                self.resume(chosen, system)

        self.app.push_screen(listed, left)

    def can_bring_back(self, conversation: str, title: str) -> None:
        """A conversation was deleted."""
        self.deleted.append(conversation)
        key = self.key_names.first("list_conversations")
        self.hint(f"“{printable(title)}” is deleted. {key}, then Ctrl+Z, brings it back.")

    def resume(self, wanted: str, system: str | None = None) -> None:
        """Go on with a conversation by its identifier, else with the only one that mentions these words.

        ``system``: the system prompt that it is to have from now on; None leaves it its own.
        """
        if wanted == self.chat.conversation.current.id:
            return
        if not wanted.strip():
            self.action_list_conversations(system=system)
            return

        def find() -> Conversation | None:
            try:
                return self.keeper.store.resume(wanted)
            except StoreError:
                found = self.keeper.store.page(wanted, size=2) if wanted.strip() else ()
                return self.keeper.store.resume(found[0].id) if len(found) == 1 else None

        def found(conversation: Conversation | None) -> None:
            self._looking = False
            self.status.review()
            if conversation is not None:
                self._open(conversation, system)
            elif self.prompt.text:  # who is typing goes on typing
                self._meant = (wanted, system)
                lists = f"{self.key_names.first('list_conversations')} lists those that mention it."
                self.hint(f"No one conversation is meant by “{printable(wanted)}”. {lists}")
            else:
                self.action_list_conversations(wanted, system)

        def failed() -> None:
            self._looking = False
            self.status.review()

        self._looking = True
        self.status.hint(f"Looking for “{printable(wanted)}”", lambda: self._looking)
        self.keeper.look_up(find, found, failed)

    def begin_with(self, start: Start) -> None:
        """Look up the conversation to go on with, which is to be the first thing seen, and what the prompt recalls."""
        if start.latest:
            self.keeper.look_up(self.keeper.store.latest, lambda found: self._go_on_with_latest(found, start.system))
        elif start.wanted is not None:
            self.resume(start.wanted, start.system)
        if start.latest or start.wanted is not None:
            self.keeper.wait(FIRST_SECONDS)
        self.keeper.look_up(self.keeper.store.prompts, self.prompt.recall_from)

    def _go_on_with_latest(self, conversation: Conversation | None, system: str | None) -> None:
        if conversation is None:
            self.hint("There is no conversation to go on with yet.")
        else:
            self._open(conversation, system)

    def _open(self, conversation: Conversation, system: str | None) -> None:
        self.chat.open(conversation)
        talk = self.chat.conversation
        if system is not None and talk.current is conversation and conversation.about.system != system:
            talk.instruct(system)
            self.transcript.note(f"System prompt from here on: {system}")
