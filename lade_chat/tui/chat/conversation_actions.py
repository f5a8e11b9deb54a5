"""Actions on whole conversations: list, resume, delete, and the conversation that the chat starts with."""

from __future__ import annotations

from lade_chat.errors import NotYetError
from lade_chat.presentation.sanitize import printable
from lade_chat.store.conversation import Conversation
from lade_chat.store.errors import StoreError
from lade_chat.tui.app.preferences_owner import preferences_owner
from lade_chat.tui.chat.widgets import ChatWidgets
from lade_chat.tui.control.controller import Chat
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.conversations.session import Start
from lade_chat.tui.conversations.store_worker import StoreWorker

FIRST_SECONDS = 0.5
"""Limit on the first frame's wait for the conversation that it shows; a lookup usually takes some milliseconds."""


class ConversationActions:
    """Looks conversations up in the store, and has the chat open them."""

    def __init__(self, ui: ChatWidgets, chat: Chat, worker: StoreWorker) -> None:
        self._ui = ui
        self._chat = chat
        self._worker = worker
        self._deleted: list[str] = []
        """Conversations that were deleted since the chat was opened, and can be restored."""
        self._looking = False
        """True while a conversation is being looked up."""
        self._next_search: tuple[str, str | None] = ("", None)
        """What the list searches for when it is opened next, and the system prompt that goes with it."""

    def open_list(self, search: str = "", system: str | None = None) -> None:
        """Open the list of conversations; the one chosen there gets the system prompt ``system``, if any."""
        if not search:
            search, system = self._next_search
        self._next_search = ("", None)
        chat = self._chat
        model = chat.model.name if chat.model is not None else ""
        listed = ConversationList(
            self._worker,
            chat.conversation,
            self._deleted,
            search,
            model,
            changed=lambda: chat.earlier.send(forget=True),
        )

        def left(chosen: str | None) -> None:
            self._ui.side_bar.look()
            if chat.conversation.current.id in self._deleted:
                chat.navigation.new_conversation()
            if chosen is not None:
                self.resume(chosen, system)

        self._ui.screen.app.push_screen(listed, left)

    def toggle_side_bar(self) -> None:
        """Show the conversations beside the chat, or no longer; kept for next time."""
        wanted = not self._ui.side_bar.wanted
        self.show_side_bar(wanted)
        preferences_owner(self._ui.screen).keep({"sidebar": wanted})

    def show_side_bar(self, wanted: bool) -> None:
        """Show the conversations beside the chat where there is room, or no longer."""
        self._ui.side_bar.wanted = wanted
        if wanted and not self._ui.screen.has_class("-very-wide"):
            self._ui.hint("The side bar is there from 120 columns on.")

    def delete(self) -> None:
        """Delete the open conversation and begin a new one. Raises NotYetError if it is empty."""
        current, store = self._chat.conversation.current, self._worker.store
        if not current.turns:
            raise NotYetError("There is nothing to delete yet.")

        def deleted() -> None:
            self._deleted.append(current.id)
            self._chat.earlier.send(forget=True)
            self._ui.side_bar.look()
            key = self._ui.key_names.first("list_conversations")
            # The title is last: a narrow line cuts its end, not the remedy.
            self._ui.hint(f"Deleted; {key}, then Ctrl+Z, brings it back: “{printable(current.title)}”")

        self._chat.navigation.new_conversation(lambda: self._worker.change(lambda: store.delete(current.id), deleted))

    def resume(self, wanted: str, system: str | None = None) -> None:
        """Resume a conversation by its identifier, or else the only one that contains these words.

        ``system``: its system prompt from now on; None leaves it its own.
        """
        self._ui.prompt.focus()
        if wanted == self._chat.conversation.current.id:
            return
        if not wanted.strip():
            self.open_list(system=system)
            return
        store = self._worker.store

        def find() -> Conversation | None:
            try:
                return store.resume(wanted)
            except StoreError:
                matches = store.page(wanted, size=2)
                return store.resume(matches[0].id) if len(matches) == 1 else None

        def found(conversation: Conversation | None) -> None:
            finished()
            if conversation is not None:
                self._open(conversation, system)
            elif self._ui.prompt.text:  # do not interrupt typing
                self._next_search = (wanted, system)
                lists = f"{self._ui.key_names.first('list_conversations')} lists those that mention it."
                self._ui.hint(f"“{printable(wanted)}” matches no single conversation. {lists}")
            else:
                self.open_list(wanted, system)

        def finished() -> None:
            self._looking = False
            self._ui.status.review()

        self._looking = True
        self._ui.status.hint(f"Looking for “{printable(wanted)}”", lambda: self._looking)
        self._worker.look_up(find, found, finished)

    def begin_with(self, start: Start) -> None:
        """Look up the conversation to start with, so that the first frame shows it, and the prompt's history."""
        store = self._worker.store
        if start.latest:
            self._worker.look_up(store.latest, lambda found: self._resume_latest(found, start.system))
        elif start.wanted is not None:
            self.resume(start.wanted, start.system)
        if start.latest or start.wanted is not None:
            self._worker.wait(FIRST_SECONDS)
        self._worker.look_up(store.prompts, self._ui.prompt.recall_from)

    def _resume_latest(self, conversation: Conversation | None, system: str | None) -> None:
        if conversation is None:
            self._ui.hint("There is no conversation to resume yet.")
        else:
            self._open(conversation, system)

    def _open(self, conversation: Conversation, system: str | None) -> None:
        self._chat.navigation.open(conversation)
        session = self._chat.conversation
        if system is not None and session.current is conversation and conversation.about.system != system:
            session.instruct(system)
            self._ui.transcript.note(f"System prompt from here on: {system}")
