"""A conversation's tree of turns, and walks in it."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import msgspec

from lade_chat.protocol.values import Message, Piece
from lade_chat.store.piece_codec import pack
from lade_chat.store.records import Ending, Model, Record, Turn


class Snapshot(NamedTuple):
    """A conversation at one moment, replaced as a whole: a reader never sees half a change."""

    about: Record
    turns: dict[int, Turn]

    @property
    def path(self) -> tuple[Turn, ...]:
        return path_to(self.turns, self.about.leaf)


def new_turn_id() -> int:
    """An id for a turn, unlike any other's."""
    return secrets.randbits(53)


def path_to(turns: Mapping[int, Turn], leaf: int | None) -> tuple[Turn, ...]:
    """The turns from a first one to ``leaf``; empty where there is no leaf."""
    path: list[Turn] = []
    seen: set[int] = set()  # a broken file may lead in circles
    while leaf is not None and leaf in turns and leaf not in seen:
        seen.add(leaf)
        path.append(turns[leaf])
        leaf = turns[leaf].parent
    return tuple(reversed(path))


def in_order(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns, oldest first."""
    return tuple(sorted(turns, key=lambda turn: (turn.created, turn.id)))


def siblings(turns: Mapping[int, Turn], turn: Turn) -> tuple[Turn, ...]:
    """The turns that have the parent of ``turn``, itself among them, oldest first."""
    parent = _parent(turns, turn)
    return in_order(each for each in turns.values() if _parent(turns, each) == parent)


def beside(turns: Mapping[int, Turn], path: Sequence[Turn], turn: int, direction: int) -> int | None:
    """The alternative before (-1) or after (1) the one of ``turn`` that is on the path; None if there is none."""
    alternatives = siblings(turns, turns[turn])
    present = next((place for place, each in enumerate(alternatives) if each in path), None)
    wanted = -1 if present is None else present + direction
    return alternatives[wanted].id if 0 <= wanted < len(alternatives) else None


def children(turns: Mapping[int, Turn], turn: Turn) -> list[Turn]:
    """The turns that follow ``turn``."""
    return [each for each in turns.values() if each.parent == turn.id]


def is_unanswered(turns: Mapping[int, Turn], turn: Turn) -> bool:
    """True if neither the turn nor one that follows it has an answer."""
    return not turn.reply and not any(each.reply or each.ending for each in children(turns, turn))


def without(turns: Mapping[int, Turn], gone: Turn, before: int | None) -> tuple[dict[int, Turn], list[Turn]]:
    """Return the turns without one of them, and those that followed it, which now follow ``before``."""
    followers = [msgspec.structs.replace(each, parent=before) for each in children(turns, gone)]
    kept = (each for each in turns.values() if each.id != gone.id)
    return {each.id: each for each in (*kept, *followers)}, followers


def without_empty_continuations(turns: Mapping[int, Turn], leaf: int | None) -> tuple[dict[int, Turn], int | None]:
    """Return the turns and the leaf without continuations that were stopped, or killed, before they said anything.

    The reply is as it was before them, and what follows one of them follows the reply.
    """
    empty = {turn.id: turn.parent for turn in turns.values() if _is_empty_continuation(turns, turn)}

    def before(turn: int | None) -> int | None:
        for _ in empty:  # no more of them can follow one another; a broken file may lead in circles
            turn = empty.get(turn, turn) if turn is not None else None
        return turn

    kept = (turn for turn in turns.values() if turn.id not in empty)
    moved = {
        turn.id: msgspec.structs.replace(turn, parent=before(turn.parent)) if turn.parent in empty else turn
        for turn in kept
    }
    return moved, before(leaf)


def newest_leaf(turns: Mapping[int, Turn], turn: int) -> int:
    """Follow the newest child from ``turn`` down to a leaf."""
    newest: dict[int | None, Turn] = {}
    for each in in_order(turns.values()):
        newest[each.parent] = each
    seen: set[int] = set()
    while turn in newest and turn not in seen:
        seen.add(turn)
        turn = newest[turn].id
    return turn


def wholes(turns: Sequence[Turn]) -> list[tuple[int, int]]:
    """Return the range of turns of each reply on a path; a continuation belongs to the reply before it."""
    begins = [place for place, turn in enumerate(turns) if turn.question is not None or not place]
    return list(pairwise([*begins, len(turns)]))


def revised(turn: Turn, now: float, pieces: Sequence[Piece], ending: Ending, model: Model | None) -> Turn:
    """Return a new turn of the same question with another reply, which has no statistics."""
    reply, packed = "".join(piece.text for piece in pieces), (pack(pieces),)
    return Turn(new_turn_id(), turn.parent, now, turn.question, model, reply=reply, ending=ending, packed=packed)


def behind_copy(turns: Mapping[int, Turn], turn: Turn, now: float) -> tuple[Turn, ...]:
    """Return the turns of a continuation: a copy of the reply that it continues, as an alternative, and then itself.

    A reply without statistics that nothing else follows is not copied: it was only put there to be continued. Nor is
    anything for a turn with a question.
    """
    before = path_to(turns, turn.parent) if turn.question is None else ()
    is_kept = before and (before[-1].statistics is not None or len(children(turns, before[-1])) > 1)
    parts = before[wholes(before)[-1][0] :] if is_kept else ()
    copies: list[Turn] = []
    for place, each in enumerate((*parts, turn) if parts else ()):
        parent = copies[-1].id if copies else each.parent
        number = turn.id if each is turn else new_turn_id()
        copies.append(msgspec.structs.replace(each, id=number, parent=parent, created=now + place * 1e-6))
    return tuple(copies) or (turn,)


def messages(path: Sequence[Turn], system: str | None) -> tuple[Message, ...]:
    """The path as a model is asked to answer it: user and assistant by turns.

    A continuation is one message with what it continues. An unanswered question is left out, unless it is the last.
    """
    found = [Message("system", system)] if system else []
    for place, turn in enumerate(path):
        answered = bool(turn.reply) or turn.ending not in (None, "failed")
        if turn.question is not None and (answered or place == len(path) - 1):
            found.append(Message("user", turn.question))
        if not answered:
            continue
        if found and found[-1].role == "assistant":
            found.append(Message("assistant", found.pop().content + turn.reply))
        else:
            found.append(Message("assistant", turn.reply))
    return tuple(found)


def opening(question: str, most: int = 80) -> str:
    """The first line of a question, as a title of ``most`` characters."""
    line = next((" ".join(line.split()) for line in question.splitlines() if line.strip()), "")
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def opening_of(turns: Mapping[int, Turn]) -> str:
    """Return the opening of the oldest question; empty without one."""
    return next((opening(turn.question) for turn in in_order(turns.values()) if turn.question), "")


def _is_empty_continuation(turns: Mapping[int, Turn], turn: Turn) -> bool:
    said_nothing = not turn.reply and turn.ending in (None, "cancelled")
    return said_nothing and turn.question is None and turn.parent in turns


def _parent(turns: Mapping[int, Turn], turn: Turn) -> int | None:
    return turn.parent if turn.parent in turns else None
