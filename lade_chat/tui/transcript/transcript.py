"""The transcript: turns and notices; follows its end unless the user scrolls back."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from itertools import chain

from textual import on
from textual.events import Click
from textual.reactive import var

from lade_chat.protocol.events import ReplyFinished
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.records import Turn
from lade_chat.tui.conversations.conversation_session import ConversationSession, ShownTurn
from lade_chat.tui.reply.reply_turn import ReplyTurn
from lade_chat.tui.transcript.notices import Earlier, Notice, Unanswered, split, turn_widgets
from lade_chat.tui.transcript.turn_view import TurnView, UserTurn
from lade_chat.tui.transcript.welcome import Welcome
from lade_chat.tui.widgets.stack import FollowScroll

AT_ONCE = 10
"""Turns of a resumed conversation shown at first; rendering code and tables takes time."""
MAX_UNFOLDED_REPLIES = 20
"""Maximum number of replies shown before the oldest are hidden: every new line lays out all of them."""


class Transcript(FollowScroll):
    """The scrolling list of turns and notices, or the welcome page while there are none."""

    goes_on: var[bool] = var(False)
    """True while turns or notices stand below what is shown."""

    def __init__(self, model: ModelOptions) -> None:
        self.welcome = Welcome(model)
        super().__init__(self.welcome)
        self.reply: ReplyTurn | None = None
        self._waiting: deque[UserTurn | None] = deque()
        self._last: tuple[TurnView, ...] = ()
        self._roles: dict[str, list[Notice]] = {}
        self.thoughts_open = False
        self._rendered, self._debug = True, False
        self._earlier: Earlier | None = None

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.call_after_refresh(self._look_below)

    def watch_virtual_size(self) -> None:
        super().watch_virtual_size()
        self.call_after_refresh(self._look_below)

    def on_resize(self) -> None:
        self.bring_back()
        self.call_after_refresh(self._look_below)

    def _look_below(self) -> None:
        self.goes_on = not self.is_vertical_scroll_end and not self.welcome.display
        if self.goes_on:
            self.bring_back()
        elif self.reply is not None:
            self.leave_out()

    # --- what is being said ------------------------------------------------------------------------------------

    def say(self, text: str | None) -> None:
        """Add the user's turn, waiting until ``begin_reply``; None continues the last reply without one."""
        self.welcome.display = False
        turn = UserTurn(text) if text is not None else None
        self._waiting.append(turn)
        if turn is not None:
            self.column.add(turn)
        self._update_waiting()
        self.follow()

    def remove_waiting(self) -> None:
        """Remove the newest waiting user turn."""
        turn = self._waiting.pop() if self._waiting else None
        if turn is not None:
            self.column.discard(turn)
        self._update_waiting()
        self.welcome_if_empty(turn)

    def welcome_if_empty(self, leaving: TurnView | None = None) -> None:
        """Show the welcome page if there is no turn but the one that is ``leaving``."""
        self.welcome.display = not any(
            isinstance(each, TurnView) and each is not leaving for each in self.column.children
        )

    def _update_waiting(self) -> None:
        waiting = [turn for turn in self._waiting if turn is not None]
        for turn in waiting:
            turn.wait(is_last=turn is waiting[-1])

    def begin_reply(self) -> None:
        turn = self._waiting.popleft()
        said = [each for each in self.column.children if isinstance(each, ReplyTurn)]
        if turn is None and said:
            self.reply = said[-1]
            self.reply.reopen()
            self._last = tuple(each for each in self._turns if each.kept is not None and each.kept is self.reply.kept)
            return
        self.reply = self._new_reply()
        if turn is not None:
            turn.answered()
            for notice in self.column.query(Unanswered):
                if notice.is_last and notice.display:  # no longer, and not one that is being cut
                    self.column.add(Unanswered(notice.question, is_last=False), after=notice)
                    self.column.discard(notice)
        self.column.add(self.reply, after=turn)
        self._last = (self.reply,) if turn is None else (turn, self.reply)

    def end_reply(self, finished: ReplyFinished, why: str = "") -> None:
        if self.reply is not None:
            self.reply.end(finished.finish_reason, finished.statistics, why)
            self.reply = None
            self.bring_back()

    def fail_reply(self, message: str | None) -> None:
        """Keep the partial reply, and show the reason it broke off as a notice of its own."""
        reply, self.reply = self.reply, None
        if reply is None:
            return
        reply.break_off()
        self.bring_back()
        if message:
            self.column.add(Notice(message, is_error=True), after=reply)
        if not reply.text:
            self.column.discard(reply)

    def keep_last(self, shown: ShownTurn) -> None:
        """Mark the last turn as stored, which enables the actions on it."""
        for turn in self._last:
            turn.keep(shown)
        self._last = ()

    # --- what was said before ----------------------------------------------------------------------------------

    def restore(self, turns: Sequence[Turn], session: ConversationSession) -> None:
        """Show these turns of a stored conversation, the last ones first; the focus stays at the same place."""
        focused = self.screen.focused
        row = focused.region.y - self.region.y if isinstance(focused, TurnView) else 0
        drawing = self.app.batch_update()
        drawing.__enter__()  # until all is there the screen stays as it is
        self.reply = self._earlier = None
        self._roles.clear()
        self._waiting.clear()
        self._last = ()
        self.clear(self.welcome)
        self.release_anchor()
        self.welcome.display = not turns
        early, late = split(turns, AT_ONCE)
        if early:
            self._earlier = Earlier(early, session)
            self.column.add(self._earlier)
        added = [self.column.add(widget) for widget in turn_widgets(session.shown(late), self._new_reply)]
        if isinstance(focused, TurnView) and (beside := self._beside(focused)) is not None:
            self.screen.set_focus(beside, scroll_visible=False)
            self.hold(beside, row)
        elif not turns:
            self.scroll_home(animate=False)
        else:
            self.call_after_refresh(self.follow)

        async def draw() -> None:
            try:
                for each in filter(None, added):
                    await each
            finally:
                drawing.__exit__(None, None, None)

        self.run_worker(draw())

    def _beside(self, turn: TurnView) -> TurnView | None:
        """Return the turn now shown at the place of ``turn``: itself or one of its alternatives."""
        while turn.kept is not None:
            for each in self._turns:
                if type(each) is type(turn) and each.kept and each.kept.turn.parent == turn.kept.turn.parent:
                    return each
            if not self.show_earlier():
                return None
        return None

    @on(Click, "Earlier")
    def show_earlier(self) -> bool:
        """Show some more of the turns before the first; False if there are none."""
        if self._earlier is None:
            return False
        self.bring_back()
        first = next((child for child in self.column.children if isinstance(child, TurnView)), None)
        for widget in turn_widgets(self._earlier.take(), self._new_reply, has_last=False):
            self.column.add(widget, before=first)
        if not self._earlier.turns:
            self.column.discard(self._earlier)
            self._earlier = None
        if first is not None:  # what was read stays where it was
            self.hold(first, 0)
        return True

    def fold(self, session: ConversationSession) -> None:
        """Hide the oldest turns if many are shown, unless the user has scrolled back."""
        children = list(self.column.children)
        many = sum(isinstance(child, ReplyTurn) for child in children) > MAX_UNFOLDED_REPLIES
        early, late = split(session.path, AT_ONCE)
        first = self._first_of({turn.id for turn in late})
        if not many or not early or first is None or self._waiting or not self.is_vertical_scroll_end:
            return
        keep = (self._spacer, self.welcome, self._earlier, *chain(*self._roles.values()))
        self.column.remove_children([c for c in children[: children.index(first)] if c not in keep])
        if self._earlier is not None:
            self._earlier.hold(early)
        else:
            self._earlier = Earlier(early, session)
            self.column.add(self._earlier, before=first)

    def cut(self, turn: int) -> None:
        """Show nothing from this turn on: it is asked again."""
        if (first := self._first_of({turn})) is not None:
            children = list(self.column.children)
            self.column.remove_children(children[children.index(first) :])

    def _first_of(self, stored: Collection[int]) -> TurnView | None:
        turns = (each for each in self.column.children if isinstance(each, TurnView))
        return next((each for each in turns if each.kept and each.kept.turn.id in stored), None)

    def step(self, turn: TurnView, direction: int) -> bool:
        """Go to the turn before or after ``turn``, which may be gone: then it was the last. False if there is none."""
        self.bring_back()
        turns = self._turns
        place = (turns.index(turn) if turn in turns else len(turns)) + direction
        if 0 <= place < len(turns):
            self.screen.set_focus(turns[place])  # at once: the next key may act on it already
            return True
        return False

    @property
    def _turns(self) -> list[TurnView]:
        """Return the mounted turns, without those being removed."""
        return [each for each in self.column.children if isinstance(each, TurnView) and each.display]

    # --- besides -----------------------------------------------------------------------------------------------

    def note(self, what: str, way_on: str = "", *, is_error: bool = False) -> Notice:
        """Add a notice; above the welcome page while that is shown."""
        notice = Notice(what, way_on, is_error=is_error)
        if self.welcome.display:
            self.column.add(notice, before=self.welcome)
            self.call_after_refresh(notice.scroll_visible, animate=False)
        else:
            self.column.add(notice)
        return notice

    def note_instead(self, role: str, *texts: str, way_on: str = "", is_error: bool = False) -> None:
        """Add notices in place of those that have this role."""
        for before in self._roles.pop(role, ()):
            if before in self.column.children:
                self.column.discard(before)
        self._roles[role] = [self.note(text, way_on, is_error=is_error) for text in texts]

    def note_model(self, notices: Sequence[str]) -> None:
        """Show a loaded model's notices, unless they stand there already, and none of a failure to load."""
        self.note_instead("failure")
        if [notice.what for notice in self._roles.get("model", ())] != list(notices):
            self.note_instead("model", *notices)

    def open_thoughts(self, wanted: bool) -> None:
        """Open or fold every thought, and those to come."""
        self.thoughts_open = wanted
        for reply in self.query(ReplyTurn):
            reply.open_thoughts(wanted)

    def toggle_view(self) -> str:
        """Show replies rendered, or token by token; returns what it is now."""
        self._rendered = not self._rendered
        for reply in self.query(ReplyTurn):
            reply.show_rendered(self._rendered)
        return "Replies as Markdown." if self._rendered else "Replies token by token."

    def set_debug(self, enabled: bool) -> None:
        """Show all metrics of every reply, or the few that matter to who reads."""
        if enabled is not self._debug:
            self._debug = enabled
            for reply in self.query(ReplyTurn):
                reply.set_debug(enabled)

    def _new_reply(self) -> ReplyTurn:
        reply = ReplyTurn(rendered=self._rendered, debug=self._debug)
        reply.open_thoughts(self.thoughts_open)
        return reply
