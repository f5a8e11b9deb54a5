"""What the command palette offers on the main screen."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual.app import SystemCommand

from lade_chat.tui.chat.command_actions import run
from lade_chat.tui.chat.keys import ChatKeys


def commands(chat: ChatKeys) -> Iterable[SystemCommand]:
    """Everything that has a key or a slash command, and needs nothing typed behind it."""
    offered = (
        ("Lookahead on or off", "Also in mid-reply ({toggle_lookahead})", chat.action_toggle_lookahead),
        ("Race", "Lookahead on against off, side by side ({race})", chat.action_race),
        ("How it works", "Lookahead decoding, on steps of this model (/explain)", chat.action_explain),
        ("Stop the reply", "What was said is kept ({stop})", chat.action_stop),
        ("New conversation", "The one so far is kept ({new_conversation})", chat.action_new_conversation),
        ("Conversations", "Search, resume, rename, delete ({list_conversations})", chat.action_list_conversations),
        ("Delete the conversation", "The list brings it back (/delete)", partial(run, chat, "/delete")),
        ("Ask again", "The reply so far stays as an alternative (/retry)", partial(run, chat, "/retry")),
        ("Edit the last question", "And ask that instead (/edit)", partial(run, chat, "/edit")),
        ("Go on with the reply", "As after the token limit (/continue)", partial(run, chat, "/continue")),
        ("Copy the reply", "To the clipboard (/copy)", partial(run, chat, "/copy")),
        ("Copy its code", "Of the last reply (/copy code)", partial(run, chat, "/copy code")),
        ("Markdown or tokens", "How replies are shown ({toggle_view})", chat.action_toggle_view),
        (
            "Colours by source, or alike",
            "How verified tokens are coloured ({toggle_colours})",
            chat.action_toggle_colours,
        ),
        ("Save the conversation", "As Markdown, here (/save FILE)", partial(run, chat, "/save")),
        ("Export a picture", "Of the last reply, as HTML (/export FILE)", partial(run, chat, "/export")),
        ("Write in your editor", "The message in $EDITOR ({edit_outside})", chat.action_edit_outside),
        ("Options of decoding", "Temperature, seed, length (/set)", partial(run, chat, "/set")),
        ("Open a model", "A folder or a hub id ({open_model})", chat.action_open_model),
        ("Its own model", "What the conversation was held with (/reopen)", partial(run, chat, "/reopen")),
        ("Debug panel", "Speed-up, steps, accepted runs ({toggle_debug})", chat.action_toggle_debug),
        ("Thoughts", "Open or fold them ({toggle_thoughts})", chat.action_toggle_thoughts),
        ("Help", "What this is, and its keys ({help})", chat.action_help),
    )
    for title, about, call in offered:
        yield SystemCommand(title, chat.key_names.put_into(about), call)
