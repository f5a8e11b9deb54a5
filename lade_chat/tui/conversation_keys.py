"""What the user does with whole conversations on the main screen."""

from __future__ import annotations

from textual.screen import Screen

from lade_chat.sanitize import printable
from lade_chat.store.conversation import Conversation
from lade_chat.store.trouble import StoreError
from lade_chat.tui.chat import Chat
from lade_chat.tui.conversation_list import ConversationList
from lade_chat.tui.keeper import Keeper
from lade_chat.tui.key_names import KeyNames, keys_of
from lade_chat.tui.prompt import Prompt
from lade_chat.tui.start import Start
from lade_chat.tui.status_bar import StatusBar
from lade_chat.tui.transcript import Transcript


class ConversationKeys(Screen[None]):
    """The lower half of ``ChatKeys``, which has the keys."""

    chat: Chat
    keeper: Keeper
    deleted: list[str]
    """Conversations that were deleted since the chat was opened, and may be brought back."""

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

        def find() -> Conversation | None:
            try:
                return self.keeper.store.resume(wanted)
            except StoreError:
                found = self.keeper.store.page(wanted, size=2) if wanted.strip() else ()
                return self.keeper.store.resume(found[0].id) if len(found) == 1 else None

        def found(conversation: Conversation | None) -> None:
            if conversation is None:
                self.action_list_conversations(wanted, system)
            else:
                self._open(conversation, system)

        self.keeper.look_up(find, found)

    def begin_with(self, start: Start) -> None:
        """Look up what the prompt recalls, and the conversation to go on with."""
        self.keeper.look_up(self.keeper.store.prompts, self.prompt.recall_from)
        if start.latest:
            self.keeper.look_up(self.keeper.store.latest, lambda found: self._go_on_with_latest(found, start.system))
        elif start.wanted is not None:
            self.resume(start.wanted, start.system)

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
