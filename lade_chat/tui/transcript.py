"""The conversation on the screen: turns and notices, kept at the end unless the user reads back."""

from __future__ import annotations

from collections import deque

from lade_chat.protocol import ReplyFinished, Tokens
from lade_chat.tui.follow_scroll import FollowScroll
from lade_chat.tui.notice import Notice, NoticeKind
from lade_chat.tui.reply_turn import ReplyTurn
from lade_chat.tui.turn import UserTurn
from lade_chat.tui.welcome import Welcome


class Transcript(FollowScroll):
    """The welcome text until something is said, then what is said."""

    def __init__(self) -> None:
        self.welcome = Welcome()
        super().__init__(self.welcome)
        self.reply: ReplyTurn | None = None
        self._waiting: deque[UserTurn] = deque()
        self._load_error: Notice | None = None
        self._thoughts_open = False

    def say(self, text: str) -> None:
        """The user's turn, which waits until ``begin_reply``. Whoever speaks wants to see the end."""
        self.welcome.display = False
        turn = UserTurn(text)
        self._waiting.append(turn)
        self.column.add(turn)
        self.follow()

    def begin_reply(self) -> None:
        turn = self._waiting.popleft()
        turn.answered()
        self.reply = ReplyTurn()
        self.reply.open_thoughts(self._thoughts_open)
        self.column.add(self.reply, after=turn)

    def grow_reply(self, tokens: Tokens) -> None:
        if self.reply is not None:
            self.reply.add(tokens.pieces, tokens.statistics)

    def end_reply(self, finished: ReplyFinished, *, debug: bool) -> None:
        if self.reply is not None:
            self.reply.end(finished.finish_reason, finished.statistics, debug=debug)
            self.reply = None

    def fail_reply(self, message: str | None) -> None:
        """What was said stays; why it broke off is nothing the model said, so it stands on its own."""
        reply, self.reply = self.reply, None
        if reply is None:
            return
        reply.break_off()
        if message:
            self.column.add(Notice(message, "error"), after=reply)
        if not reply.reply.text:
            self.column.discard(reply)

    def note(self, what: str, kind: NoticeKind = "information", way_on: str = "") -> Notice:
        """Say something in between; above the welcome text as long as that is there."""
        notice = Notice(what, kind, way_on)
        if self.welcome.display:
            self.column.add(notice, before=self.welcome)
        else:
            self.column.add(notice)
        return notice

    def fail_load(self, what: str, way_on: str) -> None:
        """Say that a model could not be loaded, in place of an earlier such line."""
        self.forget_failed_load()
        self._load_error = self.note(what, "error", way_on)

    def forget_failed_load(self) -> None:
        """A model has been loaded: what went wrong before no longer matters."""
        if self._load_error is not None:
            self.column.discard(self._load_error)
            self._load_error = None

    def toggle_thoughts(self) -> bool:
        """Open or fold every thought; False if there is none."""
        replies = [reply for reply in self.query(ReplyTurn) if reply.has_thoughts]
        if replies:
            self._thoughts_open = not self._thoughts_open
            for reply in replies:
                reply.open_thoughts(self._thoughts_open)
        return bool(replies)

    def reset(self) -> None:
        """An empty conversation: only the welcome text."""
        self.reply = self._load_error = None
        self._waiting.clear()
        self.column.remove_children([child for child in self.column.children if child is not self.welcome])
        self.welcome.display = True
        self.release_anchor()
        self.scroll_home(animate=False)
