"""The widgets that show stored turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.widget import Widget

from lade_chat.store.tree import opening, wholes
from lade_chat.tui.conversations.session import ShownTurn
from lade_chat.tui.reply.turn import ReplyTurn
from lade_chat.tui.transcript.notice import Notice
from lade_chat.tui.transcript.turn import Turn, UserTurn

MAX_TITLE = 40
"""Longest beginning of a question, in characters, by which a notice names it."""


class Unanswered(Notice):
    """Notice below a question that got no answer: it says how to ask again, for which /retry is the last one's way."""

    def __init__(self, question: str | None, *, is_last: bool) -> None:
        self.question, self.is_last = question, is_last
        way_on = "/retry asks again." if is_last else "Shift+Tab and Up to it, Enter, Ask again."
        answered = f" to “{opening(question, MAX_TITLE)}”" if question is not None else ""
        super().__init__(f"No answer came{answered}: the chat was ended before.", way_on=way_on)


def turn_widgets(
    turns: Sequence[ShownTurn], new_reply: Callable[[], ReplyTurn], *, has_last: bool = True
) -> list[Widget]:
    """Return the questions and whole replies, each with a notice where it failed or never came.

    Args:
        has_last: the last of ``turns`` is the last of the conversation.
    """
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
            widgets.append(Unanswered(question, is_last=has_last and last == len(turns)))
    return widgets
