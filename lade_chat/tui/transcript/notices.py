"""Notices in the transcript, and the widgets of stored turns: the notices of missing ones, the line of earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from lade_chat.presentation.metric_words import counted
from lade_chat.presentation.sanitize import printable
from lade_chat.store.records import Turn
from lade_chat.store.tree import opening, wholes
from lade_chat.tui.conversations.conversation_session import ConversationSession, ShownTurn
from lade_chat.tui.reply.reply_turn import ReplyTurn
from lade_chat.tui.transcript.turn_view import TurnView, UserTurn

MAX_TITLE = 40
"""Characters of a question that a notice quotes."""


class Notice(Static):
    """``what`` happened and, dimmer, what to do about it."""

    def __init__(self, what: str, way_on: str = "", *, is_error: bool = False) -> None:
        self.what, self.is_error = what, is_error
        lines = [Content(("✗ " if is_error else "· ") + printable(what))]
        if way_on:
            lines.append(Content.styled(printable(way_on), "$foreground-muted"))
        super().__init__(Content("\n").join(lines), markup=False)
        self.set_class(is_error, "error")


class Unanswered(Notice):
    """Notice below a question that got no answer: it says how to ask again, for which /retry is the last one's way."""

    def __init__(self, question: str | None, *, is_last: bool) -> None:
        self.question, self.is_last = question, is_last
        way_on = "/retry asks again." if is_last else "Shift+Tab and Up to it, Enter, Ask again."
        answered = f" (“{opening(question, MAX_TITLE)}”)" if question is not None else ""
        super().__init__(f"Not answered{answered}: the chat closed first.", way_on=way_on)


def turn_widgets(
    turns: Sequence[ShownTurn], new_reply: Callable[[], ReplyTurn], *, has_last: bool = True
) -> list[Widget]:
    """Return the questions and whole replies, each with a notice where it failed or never came.

    ``has_last``: the last of ``turns`` is the last of the conversation.
    """
    widgets: list[Widget] = []
    for first, last in wholes([shown.turn for shown in turns]):
        parts: list[TurnView] = []
        if (question := turns[first].turn.question) is not None:
            parts.append(UserTurn(question, waiting=False))
        reply = new_reply()
        if reply.restore([shown.turn for shown in turns[first:last]]):
            parts.append(reply)
        for part in parts:
            part.keep(turns[first])
        widgets += parts
        if (error := turns[last - 1].turn.error) and turns[last - 1].turn.ending == "failed":
            widgets.append(Notice(error, is_error=True))
        elif reply not in parts:
            widgets.append(Unanswered(question, is_last=has_last and last == len(turns)))
    return widgets


def split(turns: Sequence[Turn], most: int) -> tuple[Sequence[Turn], Sequence[Turn]]:
    """The last ``most`` turns and those before them; a few more, rather than a reply torn apart."""
    place = max((first for first, _ in wholes(turns) if first <= max(len(turns) - most, 0)), default=0)
    return turns[:place], turns[place:]


AT_ONCE = 20


class Earlier(Static):
    """The line that stands for hidden earlier turns; a click, or Page Up at the top, shows some of them."""

    def __init__(self, turns: Sequence[Turn], session: ConversationSession) -> None:
        super().__init__(markup=False)
        self._session = session
        self.hold(turns)

    def hold(self, turns: Sequence[Turn]) -> None:
        """Stand for these turns from now on."""
        self.turns = turns
        self.update(Content(f"▴ {counted(len(turns), 'earlier turn')}: a click or Page Up shows them"))

    def take(self) -> Sequence[ShownTurn]:
        """Return the last of the turns, for which the line stands no longer."""
        earlier, late = split(self.turns, AT_ONCE)
        self.hold(earlier)
        return self._session.shown(late)
