"""The widgets that show stored turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.widget import Widget

from lade_chat.store.tree import wholes
from lade_chat.tui.conversations.session import ShownTurn
from lade_chat.tui.reply.turn import ReplyTurn
from lade_chat.tui.transcript.notice import Notice
from lade_chat.tui.transcript.turn import Turn, UserTurn

UNANSWERED = "No answer came: the chat was ended before. /retry asks again."


def turn_widgets(turns: Sequence[ShownTurn], new_reply: Callable[[], ReplyTurn]) -> list[Widget]:
    """Return the questions and whole replies, each with a notice where it failed or never came."""
    widgets: list[Widget] = []
    for first, last in wholes([shown.turn for shown in turns]):
        parts: list[Turn] = []
        if (question := turns[first].turn.question) is not None:
            parts.append(UserTurn(question, waiting=False))
        reply = new_reply()
        if reply.restore([shown.turn for shown in turns[first:last]]):
            parts.append(reply)
        for part in parts:
            part.keep(turns[first])
        widgets += parts
        if error := turns[last - 1].turn.error:
            widgets.append(Notice(error, "error"))
        elif reply not in parts:
            widgets.append(Notice(UNANSWERED))
    return widgets
