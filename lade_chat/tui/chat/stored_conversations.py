"""Stored conversations: listed, resumed, deleted, and the one that the chat starts with."""

from __future__ import annotations

from functools import partial

from lade_chat.errors import LadeChatError
from lade_chat.presentation.sanitize import printable
from lade_chat.store.errors import StoreError
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.chat.chat_settings import keep
from lade_chat.tui.chat.decisions.navigation import new_conversation, open_conversation, send_earlier
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.prompt.editor import PromptEditor

FIRST_SECONDS = 0.5
"""Limit on the first frame's wait for the conversation that it shows; a lookup usually takes some milliseconds."""


def open_list(screen: LoopScreen, search: str = "", system: str | None = None) -> None:
    """Open the list of conversations; the one chosen there gets the system prompt ``system``, if any."""
    if not search:
        search, system = screen.next_search
    screen.next_search = ("", None)

    def left(chosen: str | None) -> None:
        screen.side_bar.look()
        if screen.conversation.id in screen.deleted:
            screen.decide(new_conversation)
        if chosen is not None:
            resume(screen, chosen, system)

    changed = partial(screen.decide, send_earlier, forget=True)
    listed = ConversationList(screen.store_worker, screen.conversation, screen.deleted, changed, search)
    screen.app.push_screen(listed, left)


def toggle_side_bar(screen: LoopScreen) -> None:
    """Show the conversations beside the chat, or no longer; kept for next time."""
    wanted = screen.side_bar.wanted = not screen.side_bar.wanted
    if wanted and not screen.has_class("-very-wide"):
        screen.hint("The side bar is there from 120 columns on.")
    keep(screen, {"sidebar": wanted})


def delete(screen: LoopScreen) -> None:
    """Delete the open conversation and begin a new one. Raises LadeChatError if it is empty."""
    if not screen.conversation.turns:
        raise LadeChatError("There is nothing to delete yet.")
    screen.decide(new_conversation, deletes=True)


def resume(screen: LoopScreen, wanted: str, system: str | None = None) -> None:
    """Resume a conversation by its identifier, or else the only one that contains these words; without any, list all.

    ``system``: its system prompt from now on; None leaves it its own.
    """
    if not wanted.strip():
        open_list(screen, system=system)
        return
    screen.prompt.focus()
    if wanted == screen.conversation.id:
        return
    store = screen.store_worker.store

    def find() -> Conversation | None:
        try:
            return store.resume(wanted)
        except StoreError:
            matches = store.page(wanted, size=2)
            return store.resume(matches[0].id) if len(matches) == 1 else None

    def found(conversation: Conversation | None) -> None:
        screen.hint("")
        if conversation is not None:
            screen.decide(open_conversation, conversation, system)
        elif screen.prompt.text:  # do not interrupt typing
            screen.next_search = (wanted, system)
            lists = f"{screen.key_names.first('list_conversations')} lists those that mention it."
            screen.hint(f"“{printable(wanted)}” matches no single conversation. {lists}")
        else:
            open_list(screen, wanted, system)

    screen.status.hint(f"Looking for “{printable(wanted)}”", lambda: screen.store_worker.busy)
    screen.store_worker.look_up(find, found)


def begin_with(screen: LoopScreen, start: Start) -> None:
    """Look up the conversation to start with, so that the first frame shows it, and the prompt's history."""
    store = screen.store_worker.store

    def found(conversation: Conversation | None) -> None:
        if conversation is None:
            screen.hint("There is no conversation to resume yet.")
        else:
            screen.decide(open_conversation, conversation, start.system)

    if start.latest:
        screen.store_worker.look_up(store.latest, found)
    elif start.wanted is not None:
        resume(screen, start.wanted, start.system)
    if start.latest or start.wanted is not None:
        welcome = screen.transcript.welcome_if_empty
        screen.transcript.welcome.display = False
        screen.store_worker.look_up(lambda: None, lambda _: welcome(), welcome)
        screen.store_worker.wait(FIRST_SECONDS)
    screen.store_worker.look_up(store.prompts, screen.prompt.earlier.prepend)
    if unsent := screen.unsent.take_over():
        screen.prompt.put(unsent)


def keep_unsent(screen: LoopScreen) -> None:
    """Keep what is typed, since the program may be killed."""
    if (text := unsent_text(screen)) != screen.unsent.kept:
        screen.store_worker.look_up(partial(screen.unsent.keep, text), lambda _: None)


def unsent_text(screen: LoopScreen) -> str:
    """Return what was typed and not sent; neither what is merely being edited, nor what was recalled."""
    for prompt in screen.query(PromptEditor):  # none in a chat that ends before it has one
        if prompt.is_typed and not prompt.earlier.is_sent(prompt.text):
            return prompt.message
    return ""
