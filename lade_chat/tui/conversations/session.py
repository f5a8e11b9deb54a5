"""The open conversation: reads are immediate, changes are stored by the store's worker thread."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from lade_chat.presentation.thoughts import answer_of
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Message, Statistics
from lade_chat.store import tree
from lade_chat.store.values import Model, Turn
from lade_chat.tui.conversations.store_worker import Job, StoreWorker


class Start(NamedTuple):
    """The conversation that the chat opens with: a new one unless one of these is given."""

    latest: bool = False
    """The conversation that the chat was last used in."""
    wanted: str | None = None
    """An identifier, or words that only one conversation contains; a list if several do, or none."""
    system: str | None = None
    """The system prompt from now on, also for an earlier conversation; None leaves that as it is."""


NEW = Start()


@dataclass(frozen=True)
class Asked:
    """A question to the model; None asks it to continue its last reply.

    ``instead_of`` is the turn that it is an alternative to; None for a question that follows the last turn. ``turn``
    is the turn that stores it while it waits; None if it does not wait. ``draft`` is what was typed, with the mentions
    of its files; None if that is the question itself.
    """

    question: str | None
    instead_of: int | None = None
    turn: int | None = None
    draft: str | None = None

    @property
    def is_message(self) -> bool:
        """True for a new question, which follows what was said; False for a retry, an edit and a continuation."""
        return self.question is not None and self.instead_of is None

    @property
    def typed(self) -> str | None:
        """The text that the prompt gets back."""
        return self.question if self.draft is None else self.draft


@dataclass(frozen=True)
class ShownTurn:
    """A turn as the transcript shows it: number ``place`` (from 1) of ``count`` alternatives."""

    turn: Turn
    place: int = 1
    count: int = 1


class OpenConversation(NamedTuple):
    """A conversation as a view gets it. ``waiting``: questions not asked yet, None for a reply to continue.

    ``shown`` looks up alternatives only for the turns that are drawn.
    """

    turns: Sequence[Turn]
    shown: Callable[[Sequence[Turn]], Sequence[ShownTurn]]
    waiting: Sequence[str | None]
    statistics: Statistics | None


class ConversationSession:
    """One conversation at a time. Before asking or navigating, wait until the worker is idle."""

    def __init__(self, worker: StoreWorker, system: str | None) -> None:
        self._worker = worker
        self.system = system
        """The system prompt of new conversations."""
        self.current = worker.store.begin(system)
        self._ending = False
        """True while a reply that said something has no end on the disk."""

    # --- reading -----------------------------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.current.messages

    @property
    def last_question(self) -> str | None:
        """The text of the last question; None in an empty conversation."""
        return self._last_asked.question if self._last_asked is not None else None

    @property
    def _last_asked(self) -> Turn | None:
        return next((turn for turn in reversed(self.current.path) if turn.question is not None), None)

    def messages_for(self, asked: Asked) -> tuple[Message, ...]:
        """Return the messages that the model gets if this is asked now."""
        parent = self._parent(asked)
        path = self._up_to(parent)
        return tree.messages((*path, Turn(0, parent, 0.0, asked.question)), self.current.about.system)

    def leaf_before(self, asked: Asked) -> int | None:
        """Return the turn that becomes the leaf again if this question gets no answer."""
        return self.current.about.leaf if asked.turn is None else self._parent(asked)

    def _parent(self, asked: Asked) -> int | None:
        beside = asked.turn if asked.instead_of is None else asked.instead_of
        return self.current.about.leaf if beside is None else self.current.turn(beside).parent

    @property
    def last_statistics(self) -> Statistics | None:
        """The statistics of the last reply that has some."""
        return next((turn.statistics for turn in reversed(self.current.path) if turn.statistics is not None), None)

    @property
    def last_ended(self) -> Turn | None:
        """The last turn whose reply has ended; waiting questions may follow it."""
        return next((turn for turn in reversed(self.current.path) if turn.ending is not None), None)

    def again(self, turn: int | None = None) -> Asked | None:
        """Return the question of a turn, by default the last, to be asked again; None if there is none."""
        last = self.current.last if turn is None else self.current.turn(turn)
        if last is None:
            return None
        first = next((each for each in reversed(self._up_to(last.id)) if each.question is not None), last)
        return Asked(first.question, first.id)

    def whole(self, turn: int) -> tuple[Turn, ...]:
        """Return the turn and, on the present path, the continuations of its reply."""
        path = self.current.path
        after = path[path.index(first) + 1 :] if (first := self.current.turn(turn)) in path else ()
        return (first, *takewhile(lambda each: each.question is None, after))

    def whole_reply(self, turn: int) -> str:
        """Return the answer of the turn's reply and its continuations, without a thought."""
        return answer_of("".join(each.reply for each in self.whole(turn)))

    @property
    def last_reply(self) -> str:
        """The answer of the last reply and its continuations; empty without one."""
        last = self.again()
        return self.whole_reply(last.instead_of) if last is not None and last.instead_of is not None else ""

    def more(self) -> Asked | None:
        """Return a request to continue the last reply; if it is empty, its question again. None without either.

        A reply that was broken off this moment counts: its text is on its way to the disk, and is there by then.
        """
        return Asked(None) if self._ending or self.last_reply else self.again()

    def is_repeated(self, asked: Asked) -> bool:
        """Return True for a question of this conversation that is asked again."""
        return asked.instead_of is not None and self.current.turn(asked.instead_of).question == asked.question

    def other_replies(self, asked: Asked) -> tuple[Turn, ...]:
        """Return the earlier replies to a question that is asked again; empty for any other."""
        if asked.instead_of is None or not self.is_repeated(asked):
            return ()
        siblings = self.current.siblings(asked.instead_of)
        return tuple(turn for turn in siblings if turn.question == asked.question and turn.reply)

    def _up_to(self, turn: int | None) -> tuple[Turn, ...]:
        return tree.path_to({each.id: each for each in self.current.turns}, turn)

    def up_to_last_question(self) -> tuple[Message, ...]:
        """Return the messages up to and including the last question."""
        last = self._last_asked
        return self.messages if last is None else self.messages_for(Asked(last.question, last.id))

    def shown(self, turns: Sequence[Turn]) -> tuple[ShownTurn, ...]:
        """Return the turns, each with its place among its alternatives."""
        shown = []
        for turn in turns:
            siblings = [each.id for each in self.current.siblings(turn.id)]
            shown.append(ShownTurn(turn, siblings.index(turn.id) + 1, len(siblings)))
        return tuple(shown)

    def as_open(self, waiting: Sequence[str | None] = (), without: Collection[int | None] = ()) -> OpenConversation:
        """Return the conversation for a view, ``without`` the turns of questions that wait."""
        turns = tuple(turn for turn in self.current.path if turn.id not in without)
        return OpenConversation(turns, self.shown, waiting, self.last_statistics)

    # --- asking ------------------------------------------------------------------------------------------------

    def enqueue(self, question: str, draft: str | None = None) -> Asked:
        """Store a question that has to wait, as a turn without an answer."""
        turn = tree.new_turn_id()
        self._worker.change(partial(self.current.enqueue, question, turn))
        return Asked(question, turn=turn, draft=draft)

    def take_back(self, asked: Asked) -> None:
        """Delete a question that waits."""
        if asked.turn is not None:
            self._worker.change(partial(self.current.withdraw, asked.turn))

    def ask(self, asked: Asked, model: Model) -> None:
        """Begin the turn; ``grow`` follows, then ``finish`` or ``break_off``."""
        conversation, question, turn = self.current, asked.question, asked.instead_of
        if asked.turn is not None:
            self._worker.change(partial(conversation.answer, asked.turn, model))
        elif turn is not None and self.is_repeated(asked):
            self._worker.change(partial(conversation.retry, model, turn=turn))
        elif turn is not None and question is not None:
            self._worker.change(partial(conversation.edit, turn, question, model))
        elif question is not None:
            self._worker.change(partial(conversation.ask, question, model))
        else:
            self._worker.change(partial(conversation.go_on, model))

    def grow(self, tokens: Tokens) -> None:
        self._ending = True
        self._worker.change(partial(self.current.grow, tokens))

    def finish(self, finished: ReplyFinished, then: Job) -> None:
        """End the turn; ``then`` is called when it is on disk, or cannot be written yet."""
        self._worker.change(partial(self.current.finish, finished), self._ended(then))

    def break_off(self, error: str, then: Job) -> None:
        """End the turn of a reply that failed."""
        self._worker.change(partial(self.current.break_off, error), self._ended(then))

    def _ended(self, then: Job) -> Job:
        def job() -> None:
            self._ending = False
            then()

        return job

    def withdraw(self, leaf: int | None, then: Job) -> None:
        """Delete the turn that got no answer, and return to ``leaf``."""
        self._worker.change(partial(self.current.withdraw, back_to=leaf), then)

    def save(self) -> None:
        """Save what is not saved yet, unless the worker is busy already."""
        if not self._worker.busy:
            self._worker.change(self.current.save)

    # --- navigating --------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin a new conversation; the present one stays in the store."""
        self.current = self._worker.store.begin(self.system)

    def branch(self, turn: int | None, then: Job) -> None:
        """Have the next question follow this turn."""
        self._worker.change(partial(self.current.branch, turn), then)

    def switch(self, turn: int, direction: int, then: Job) -> None:
        """Go to the alternative before (-1) or after (1) the one of ``turn`` that is on the path by then.

        The conversation continues from that alternative's latest leaf. ``then`` is called if there is one; there is
        none where the path has left the turn since.
        """
        conversation = self.current
        switched = False

        def work() -> None:
            nonlocal switched
            siblings = [each.id for each in conversation.siblings(turn)]
            path = {each.id for each in conversation.path}
            present = next((place for place, each in enumerate(siblings) if each in path), None)
            if present is not None and 0 <= present + direction < len(siblings):
                conversation.switch(siblings[present + direction])
                switched = True

        self._worker.change(work, lambda: then() if switched else None)

    def rename(self, title: str, then: Job) -> None:
        self._worker.change(partial(self.current.rename, title), then)

    def instruct(self, system: str | None) -> None:
        """Change the system prompt, here and for new conversations."""
        self.system = system
        self._worker.change(partial(self.current.instruct, system))
