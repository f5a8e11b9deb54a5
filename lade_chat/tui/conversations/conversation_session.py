"""The conversation on the screen: looked up at once, changed on disk in the keeper's thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Message, Statistics
from lade_chat.store import tree
from lade_chat.store.conversation import Conversation, new_turn_id
from lade_chat.store.values import Model, Turn
from lade_chat.tui.conversations.store_worker import Keeper


@dataclass(frozen=True)
class Asked:
    """What the model is to answer: a question, or (None) that its last reply goes on.

    ``instead_of`` is the turn beside which it is asked; None for a question that follows the last turn. ``turn`` is
    the turn as which it is kept while it waits; None for what waits for nothing.
    """

    question: str | None
    instead_of: int | None = None
    turn: int | None = None


@dataclass(frozen=True)
class ShownTurn:
    """A turn as the transcript shows it: the ``place``-th (from 1) of ``count`` alternatives."""

    turn: Turn
    place: int = 1
    count: int = 1


class Talk:
    """One conversation at a time. Whoever asks, or goes elsewhere, first waits until the keeper is idle."""

    def __init__(self, keeper: Keeper, system: str | None) -> None:
        self._keeper = keeper
        self.system = system
        """The system prompt of new conversations."""
        self.current = keeper.store.begin(system)

    # --- what is looked up -------------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.current.messages

    @property
    def last_question(self) -> str | None:
        """The text of the last question, or None in an empty conversation."""
        return next((turn.question for turn in reversed(self.current.path) if turn.question is not None), None)

    def messages_for(self, asked: Asked) -> tuple[Message, ...]:
        """The messages as the model gets them, if this is asked now."""
        parent = self._parent(asked)
        path = self._up_to(parent)
        return tree.messages((*path, Turn(0, parent, 0.0, asked.question)), self.current.about.system)

    def leaf_before(self, asked: Asked) -> int | None:
        """The turn to which the conversation goes back if this gets no answer."""
        return self.current.about.leaf if asked.turn is None else self._parent(asked)

    def _parent(self, asked: Asked) -> int | None:
        beside = asked.turn if asked.instead_of is None else asked.instead_of
        return self.current.about.leaf if beside is None else self.current.turn(beside).parent

    @property
    def last_statistics(self) -> Statistics | None:
        """The figures of the last reply that has some."""
        return next((turn.statistics for turn in reversed(self.current.path) if turn.statistics is not None), None)

    @property
    def last_ended(self) -> Turn | None:
        """The last turn whose reply has ended; questions that wait may follow it."""
        return next((turn for turn in reversed(self.current.path) if turn.ending is not None), None)

    def again(self, turn: int | None = None) -> Asked | None:
        """The question of a turn (of the last one), to be asked once more; None if there is none."""
        last = self.current.last if turn is None else self.current.turn(turn)
        if last is None:
            return None
        first = next((each for each in reversed(self._up_to(last.id)) if each.question is not None), last)
        return Asked(first.question, first.id)

    def whole(self, turn: int) -> tuple[Turn, ...]:
        """The turn, and on the present path all that went on from its reply."""
        path = self.current.path
        after = path[path.index(first) + 1 :] if (first := self.current.turn(turn)) in path else ()
        return (first, *takewhile(lambda each: each.question is None, after))

    def whole_reply(self, turn: int) -> str:
        """The text of ``whole``."""
        return "".join(each.reply for each in self.whole(turn))

    def more(self) -> Asked | None:
        """The last reply, to be gone on with; where it is empty, its question again."""
        last = self.current.last
        if last is None:
            return None
        return Asked(None) if last.reply else self.again()

    def is_repeated(self, asked: Asked) -> bool:
        """Whether it is a question of this conversation, asked again."""
        return asked.instead_of is not None and self.current.turn(asked.instead_of).question == asked.question

    def other_replies(self, asked: Asked) -> tuple[Turn, ...]:
        """The replies that a question which is asked again has already; none for any other."""
        if asked.instead_of is None or not self.is_repeated(asked):
            return ()
        siblings = self.current.siblings(asked.instead_of)
        return tuple(turn for turn in siblings if turn.question == asked.question and turn.reply)

    def _up_to(self, turn: int | None) -> tuple[Turn, ...]:
        return tree.path_to({each.id: each for each in self.current.turns}, turn)

    def up_to_last_question(self) -> tuple[Message, ...]:
        """The messages up to and including the last question: that question, asked again."""
        last = next((turn for turn in reversed(self.current.path) if turn.question is not None), None)
        return self.messages if last is None else self.messages_for(Asked(last.question, last.id))

    def shown(self, turns: Sequence[Turn]) -> tuple[ShownTurn, ...]:
        """Some of the conversation's turns, each with its place among its alternatives."""
        told = []
        for turn in turns:
            siblings = [each.id for each in self.current.siblings(turn.id)]
            told.append(ShownTurn(turn, siblings.index(turn.id) + 1, len(siblings)))
        return tuple(told)

    # --- what is said ------------------------------------------------------------------------------------------

    def enqueue(self, question: str) -> Asked:
        """A question that has to wait: it is kept from now on, as a turn without an answer."""
        turn = new_turn_id()
        self._keeper.change(partial(self.current.enqueue, question, turn))
        return Asked(question, turn=turn)

    def take_back(self, asked: Asked) -> None:
        """Forget a question that waits."""
        if asked.turn is not None:
            self._keeper.change(partial(self.current.withdraw, asked.turn))

    def ask(self, asked: Asked, model: Model) -> None:
        """Begin the turn; what comes of it goes to ``grow``, then to ``finish`` or ``break_off``."""
        conversation, question, turn = self.current, asked.question, asked.instead_of
        if asked.turn is not None:
            self._keeper.change(partial(conversation.answer, asked.turn, model))
        elif turn is not None and self.is_repeated(asked):
            self._keeper.change(partial(conversation.retry, model, turn=turn))
        elif turn is not None and question is not None:
            self._keeper.change(partial(conversation.edit, turn, question, model))
        elif question is not None:
            self._keeper.change(partial(conversation.ask, question, model))
        else:
            self._keeper.change(partial(conversation.go_on, model))

    def grow(self, tokens: Tokens) -> None:
        self._keeper.change(partial(self.current.grow, tokens))

    def finish(self, finished: ReplyFinished, then: Callable[[], None]) -> None:
        """``then`` is called when the turn is on disk, or cannot be written yet."""
        self._keeper.change(partial(self.current.finish, finished), then)

    def break_off(self, error: str, then: Callable[[], None]) -> None:
        """As ``finish``, for a reply that failed."""
        self._keeper.change(partial(self.current.break_off, error), then)

    def withdraw(self, leaf: int | None, then: Callable[[], None]) -> None:
        """Take back the turn that got no answer, and go back to where the conversation was: to ``leaf``."""
        self._keeper.change(partial(self.current.withdraw, back_to=leaf), then)

    def save(self) -> None:
        """Save what is not saved yet, unless the keeper has its hands full already."""
        if not self._keeper.busy:
            self._keeper.change(self.current.save)

    # --- where it goes on --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A new conversation; the one before stays in the store."""
        self.current = self._keeper.store.begin(self.system)

    def adopt(self, conversation: Conversation) -> None:
        """Go on with this one."""
        self.current = conversation

    def branch(self, turn: int | None, then: Callable[[], None]) -> None:
        """Have the next question follow this turn."""
        self._keeper.change(partial(self.current.branch, turn), then)

    def switch(self, turn: int, direction: int, then: Callable[[], None]) -> None:
        """Go to the alternative before (-1) or after (1) the one of ``turn`` that the path goes through by then.

        There it goes on with what was said last. ``then`` is called if there is such an alternative.
        """
        conversation = self.current
        switched: list[int] = []

        def work() -> None:
            siblings = [each.id for each in conversation.siblings(turn)]
            path = {each.id for each in conversation.path}
            present = next(place for place, each in enumerate(siblings) if each in path)
            if 0 <= present + direction < len(siblings):
                conversation.switch(siblings[present + direction])
                switched.append(present + direction)

        self._keeper.change(work, lambda: then() if switched else None)

    def rename(self, title: str, then: Callable[[], None]) -> None:
        self._keeper.change(partial(self.current.rename, title), then)

    def instruct(self, system: str | None) -> None:
        """Another system prompt, here and in new conversations."""
        self.system = system
        self._keeper.change(partial(self.current.instruct, system))
