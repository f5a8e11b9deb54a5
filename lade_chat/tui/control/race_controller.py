"""The controller's part that races two ways to decode."""

from __future__ import annotations

from collections.abc import Callable

from lade_chat.protocol.commands import Command
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec
from lade_chat.tui.control.view import ChatView, Phase, StatePublisher
from lade_chat.tui.control.when_free import WhenFree
from lade_chat.tui.conversations.session import Asked, ConversationSession
from lade_chat.tui.race.queue import Race, Races

BEGINS = "The race begins once the model is loaded."
WAITED = "Type /compare now to race: the model is loaded."


class RaceController:
    """One race, or one for each question of a suite. ``effective_options`` returns those that replies get."""

    def __init__(
        self,
        view: ChatView,
        session: ConversationSession,
        publisher: StatePublisher,
        send: Callable[[Command], None],
        effective_options: Callable[[], DecodingOptions],
        when_free: WhenFree,
    ) -> None:
        self._view = view
        self._session = session
        self._publisher = publisher
        self._send = send
        self._effective_options = effective_options
        self._when_free = when_free
        self._races = Races()

    def begin(self, text: str) -> None:
        """Race over ``text``, or over the last question if there is none; once the model is loaded."""
        is_loading = self._publisher.state.phase is Phase.LOADING
        refusal = "" if is_loading else self._publisher.state.refusal_to_race()
        if not refusal and not text.strip() and self._session.last_question is None:
            refusal = "Nothing to race yet: type a message first."
        if refusal:
            self._view.refuse(refusal)
            return
        if is_loading:
            self._when_free.wait(lambda: self.begin(text), BEGINS, WAITED)
            return
        given = bool(text.strip())
        messages = self._session.messages_for(Asked(text)) if given else self._session.up_to_last_question()
        self._races.single(Race(text if given else self._session.last_question or "", messages))
        self._begin_race()

    def again(self, left: MethodSpec | None = None, right: MethodSpec | None = None, suite: str = "") -> None:
        """Race once more over the same question, or over a suite; with other methods where they are given."""
        if refusal := self._publisher.state.refusal_to_race():
            self._view.refuse(refusal)
            return
        races = self._races
        races.left, races.right = left or races.left, right or races.right
        if suite:
            system = self._session.current.about.system
            races.over_suite(suite, (Message("system", system),) if system else ())
        elif races.current is not None:
            races.single(races.current)
        if races.current is not None:
            self._begin_race()

    def handle(self, event: Event) -> bool:
        """Show and count an event; True if it ended the race."""
        if isinstance(event, ReplyFinished | ComparisonFinished):
            self._races.ended(event, stopped=self._publisher.state.stopping)
        self._view.race_event(event)
        if isinstance(event, Failed):
            self._races.give_up()
        return isinstance(event, ComparisonFinished | Failed)

    def begin_next(self) -> None:
        """Begin the suite's next race, if there is one."""
        if self._publisher.state.phase is Phase.READY and self._races.next():
            self._begin_race()

    def _begin_race(self) -> None:
        assert self._races.current is not None
        self._publisher.change(phase=Phase.RACING)
        self._send(self._races.command(self._effective_options()))
        self._view.race_began(self._races.current.question, self._races)
