"""What the user does with whole conversations on the main screen."""

from __future__ import annotations

from textual.screen import Screen

from lade_chat.sanitize import printable
from lade_chat.store.conversation import Conversation
from lade_chat.store.trouble import StoreError
from lade_chat.tui.chat import Chat
from lade_chat.tui.conversation_list import ConversationList
from lade_chat.tui.keeper import Keeper
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

    def hint(self, text: str) -> None:
        """A word that goes away by itself."""
        self.status.hint(text)

    def action_new_conversation(self) -> None:
        self.chat.new_conversation()

    def action_list_conversations(self, search: str = "") -> None:
        listed = ConversationList(self.keeper, self.chat.conversation, self.deleted, search)

        def left(chosen: str | None) -> None:
            if self.chat.conversation.current.id in self.deleted:
                self.chat.new_conversation()
            if chosen is not None:
                self.resume(chosen)

        self.app.push_screen(listed, left)

    def can_bring_back(self, conversation: str, title: str) -> None:
        """A conversation was deleted."""
        self.deleted.append(conversation)
        self.hint(f"“{printable(title)}” is deleted. Ctrl+T, then Ctrl+Z, brings it back.")

    def resume(self, wanted: str) -> None:
        """Go on with a conversation by its identifier, else with the only one that mentions these words."""
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
                self.action_list_conversations(wanted)
            else:
                self.chat.open(conversation)

        self.keeper.look_up(find, found)

    def begin_with(self, start: Start) -> None:
        """Look up what the prompt recalls, and the conversation to go on with."""
        self.keeper.look_up(self.keeper.store.prompts, self.prompt.recall_from)
        if start.latest:
            self.keeper.look_up(self.keeper.store.latest, self._go_on_with_latest)
        elif start.wanted is not None:
            self.resume(start.wanted)

    def _go_on_with_latest(self, conversation: Conversation | None) -> None:
        if conversation is None:
            self.hint("There is no conversation to go on with yet.")
        else:
            self.chat.open(conversation)
