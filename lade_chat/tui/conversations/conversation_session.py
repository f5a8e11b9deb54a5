"""The open conversation at one moment: its turns, the branch shown, and how a question or an edit is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from typing import NamedTuple

from lade_chat.presentation.thought_splitter import answer_of
from lade_chat.protocol.values import Message, Piece, Statistics
from lade_chat.store import tree
from lade_chat.store.piece_codec import UNKNOWN_ID
from lade_chat.store.records import Turn
from lade_chat.store.tree import Snapshot


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

    ``instead_of`` is the turn that it is an alternative to; None for a question that follows the last turn. ``draft``
    is what was typed, with the mentions of its files; None if that is the question itself. ``turn`` is the id of the
    turn that stores it while it waits, which it does once ``is_stored``.
    """

    question: str | None
    instead_of: int | None = None
    draft: str | None = None
    turn: int = 0
    is_stored: bool = False

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


@dataclass(frozen=True, eq=False)
class ConversationSession:
    """The conversation that a snapshot shows; another one is made whenever it has changed."""

    snapshot: Snapshot

    @property
    def id(self) -> str:
        return self.snapshot.about.id

    @property
    def title(self) -> str:
        return self.snapshot.about.title

    @property
    def system(self) -> str | None:
        """The system prompt."""
        return self.snapshot.about.system

    @cached_property
    def path(self) -> tuple[Turn, ...]:
        """The turns that led here, alternatives left out."""
        return self.snapshot.path

    def messages_for(self, asked: Asked) -> tuple[Message, ...]:
        """Return the messages that the model gets if this is asked now."""
        parent = self._parent(asked)
        path = tree.path_to(self.snapshot.turns, parent)
        return tree.messages((*path, Turn(0, parent, 0.0, asked.question)), self.system)

    def leaf_before(self, asked: Asked) -> int | None:
        """Return the turn that becomes the leaf again if this question gets no answer."""
        return self._parent(asked) if asked.is_stored else self.snapshot.about.leaf

    def _parent(self, asked: Asked) -> int | None:
        beside = asked.instead_of if asked.instead_of is not None else asked.turn if asked.is_stored else None
        return self.snapshot.about.leaf if beside is None else self.snapshot.turns[beside].parent

    @property
    def last_statistics(self) -> Statistics | None:
        """The statistics of the last reply that has some."""
        return next((turn.statistics for turn in reversed(self.path) if turn.statistics is not None), None)

    @property
    def last_ended(self) -> Turn | None:
        """The turn of the last reply that has ended, not of its continuations; waiting questions may follow it."""
        replies = (self.path[first:last] for first, last in reversed(tree.wholes(self.path)))
        return next((turns[0] for turns in replies if any(turn.ending is not None for turn in turns)), None)

    def again(self, turn: int | None = None) -> Asked | None:
        """Return the question of a turn, by default the last, to be asked again; None if there is none."""
        path = self.path if turn is None else tree.path_to(self.snapshot.turns, turn)
        first = next((each for each in reversed(path) if each.question is not None), path[-1] if path else None)
        return Asked(first.question, first.id) if first is not None else None

    def whole(self, turn: int) -> tuple[Turn, ...]:
        """Return the turn and, on the present path, the continuations of its reply."""
        first = self.snapshot.turns[turn]
        after = self.path[self.path.index(first) + 1 :] if first in self.path else ()
        return (first, *takewhile(lambda each: each.question is None, after))

    def whole_text(self, turn: int) -> str:
        """Return all that the turn's reply and its continuations say, its thought included."""
        return "".join(each.reply for each in self.whole(turn))

    def whole_reply(self, turn: int) -> str:
        """Return the answer of the turn's reply and its continuations, without a thought."""
        return answer_of(self.whole_text(turn))

    def revised(self, turn: int, text: str) -> tuple[Piece, ...]:
        """Return a reply of this text: the pieces of the turn's own as far as they agree, and one for the rest."""
        kept, start = list[Piece](), 0
        for piece in (each for part in self.whole(turn) for each in part.pieces()):
            if not text.startswith(piece.text, start):
                break
            kept.append(piece)
            start += len(piece.text)
        return (*kept, Piece(text[start:], "plain", UNKNOWN_ID, 0)) if text[start:] else tuple(kept)

    def written(self, turn: int, fingerprint: str, most: int | None = None) -> tuple[int, ...]:
        """Return the tokens, at ``most`` so many, that this very model wrote a turn's reply with, until one is lost."""
        own = takewhile(lambda part: part.model is not None and part.model.fingerprint == fingerprint, self.whole(turn))
        ids = (piece.id for part in own for piece in part.pieces())
        return tuple(islice(takewhile(lambda each: each != UNKNOWN_ID, ids), most))

    @property
    def last_reply(self) -> str:
        """The last reply and its continuations, thought included; empty without one."""
        last = self.again()
        return self.whole_text(last.instead_of) if last is not None and last.instead_of is not None else ""

    def is_repeated(self, asked: Asked) -> bool:
        """Return True for a question of this conversation that is asked again."""
        return asked.instead_of is not None and self.snapshot.turns[asked.instead_of].question == asked.question

    def other_replies(self, asked: Asked) -> tuple[Turn, ...]:
        """Return the earlier replies to a question that is asked again; empty for any other."""
        if asked.instead_of is None or not self.is_repeated(asked):
            return ()
        siblings = tree.siblings(self.snapshot.turns, self.snapshot.turns[asked.instead_of])
        return tuple(turn for turn in siblings if turn.question == asked.question and turn.reply)

    def shown(self, turns: Sequence[Turn]) -> tuple[ShownTurn, ...]:
        """Return the turns, each with its place among its alternatives."""
        shown = []
        for turn in turns:
            beside = [each.id for each in tree.siblings(self.snapshot.turns, self.snapshot.turns[turn.id])]
            shown.append(ShownTurn(turn, beside.index(turn.id) + 1, len(beside)))
        return tuple(shown)
