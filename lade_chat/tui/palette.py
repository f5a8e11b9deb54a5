"""What the command palette offers on the main screen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.app import SystemCommand

from lade_chat.tui.chat_keys import ChatKeys
from lade_chat.tui.slash_deeds import run


def commands(chat: ChatKeys) -> Iterable[SystemCommand]:
    """Everything that has a key or a slash command, and needs nothing typed behind it."""
    yield SystemCommand("Lookahead on or off", "Also in mid-reply (Ctrl+L)", chat.action_toggle_lookahead)
    yield SystemCommand("Race", "Lookahead on against off, side by side (Ctrl+R)", chat.action_race)
    yield SystemCommand("Stop the reply", "What was said is kept (Esc)", chat.action_stop)
    yield SystemCommand("New conversation", "The one so far is kept (Ctrl+N)", chat.action_new_conversation)
    yield SystemCommand("Conversations", "Search, resume, rename, delete (Ctrl+T)", chat.action_list_conversations)
    yield SystemCommand("Delete the conversation", "The list brings it back (/delete)", partial(run, chat, "/delete"))
    yield SystemCommand("Ask again", "The reply so far stays as an alternative (/retry)", partial(run, chat, "/retry"))
    yield SystemCommand("Edit the last question", "And ask that instead (/edit)", partial(run, chat, "/edit"))
    yield SystemCommand("Go on with the reply", "As after the token limit (/continue)", partial(run, chat, "/continue"))
    yield SystemCommand("Copy the reply", "To the clipboard (/copy)", partial(run, chat, "/copy"))
    yield SystemCommand("Copy its code", "Of the last reply (/copy code)", partial(run, chat, "/copy code"))
    yield SystemCommand("Markdown or tokens", "How replies are shown (F7)", chat.action_toggle_view)
    yield SystemCommand("Save the conversation", "As Markdown, here (/save FILE)", partial(run, chat, "/save"))
    yield SystemCommand("Export a picture", "Of the last reply, as HTML (/export FILE)", partial(run, chat, "/export"))
    yield SystemCommand("Write in your editor", "The message in $EDITOR (Ctrl+G)", chat.action_edit_outside)
    yield SystemCommand("Options of decoding", "Temperature, seed, length (/set)", partial(run, chat, "/set"))
    yield SystemCommand("Open a model", "A folder or a hub id (Ctrl+O)", chat.action_open_model)
    yield SystemCommand("Debug panel", "Speed-up, steps, accepted runs (Ctrl+D)", chat.action_toggle_debug)
    yield SystemCommand("Thoughts", "Open or fold them (F5)", chat.action_toggle_thoughts)
    yield SystemCommand("Help", "What this is, and its keys (F1)", chat.action_help)
