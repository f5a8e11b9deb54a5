"""Conversations as lines of JSON, which hold all that the store keeps, and back.

A line of type ``conversation`` begins one; each line of type ``turn`` after it is a turn, its parent before it. Turns
are numbered from 1, moments are seconds since 1970, and each piece is its text, origin, token and step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import msgspec

from lade_chat.protocol.values import Piece, Statistics
from lade_chat.store import tree
from lade_chat.store.conversation import Conversation
from lade_chat.store.errors import StoreError
from lade_chat.store.sqlite.piece_codec import UNKNOWN_ID, pack
from lade_chat.store.sqlite.rows import Stored
from lade_chat.store.values import Ending, Model, Record, Turn

VERSION = 1


class _Head(msgspec.Struct, frozen=True, tag_field="type", tag="conversation"):
    version: int
    created: float
    updated: float
    title: str = ""
    system: str | None = None
    last: int | None = None
    """The number of the turn that the next question follows."""


class _Turn(msgspec.Struct, frozen=True, tag_field="type", tag="turn", omit_defaults=True):
    number: int
    created: float
    parent: int | None = None
    question: str | None = None
    reply: str = ""
    ending: Ending | None = None
    error: str = ""
    model: Model | None = None
    statistics: Statistics | None = None
    pieces: tuple[Piece, ...] = ()
    step_seconds: tuple[float, ...] = ()


_Line: TypeAlias = _Head | _Turn
_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[_Line] = msgspec.json.Decoder(_Line)


def to_jsonl(conversation: Conversation) -> Iterator[str]:
    """The conversation with all alternatives, line by line, without line breaks."""
    about, turns = conversation.about, conversation.turns
    numbers: dict[int | None, int] = {turn.id: number for number, turn in enumerate(turns, 1)}
    head = _Head(VERSION, about.created, about.updated, about.title, about.system, numbers.get(about.leaf))
    yield _encoder.encode(head).decode()
    for turn in turns:
        pieces = tuple(piece for piece in turn.pieces() if piece.id != UNKNOWN_ID)
        line = _Turn(
            number=numbers[turn.id],
            created=turn.created,
            parent=numbers.get(turn.parent),
            question=turn.question,
            reply=turn.reply,
            ending=turn.ending,
            error=turn.error,
            model=turn.model,
            statistics=turn.statistics,
            pieces=pieces,
            step_seconds=turn.step_seconds(),
        )
        yield _encoder.encode(line).decode()


def parse(lines: Iterable[str], new_name: Callable[[], str]) -> list[Stored]:
    """The conversations that the lines tell, each under a new name. Raises StoreError for a line that is none."""
    readers: list[_Reader] = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = _decoder.decode(text)
            if isinstance(line, _Head):
                readers.append(_Reader(line, new_name()))
            elif not readers:
                raise ValueError("a turn before any conversation")
            else:
                readers[-1].add(line)
        except (msgspec.MsgspecError, ValueError) as error:
            raise StoreError(f"Line {number} is none of an exported conversation: {error}.") from error
    return [each.stored() for each in readers]


class _Reader:
    """One conversation, line by line."""

    def __init__(self, head: _Head, name: str) -> None:
        if head.version > VERSION:
            raise ValueError("it was written by a newer lade-chat")
        self._head = head
        self._name = name
        self._turns: dict[int, Turn] = {}

    def add(self, line: _Turn) -> None:
        if line.number in self._turns:
            raise ValueError(f"there are two turns {line.number}")
        if line.parent is not None and line.parent not in self._turns:
            raise ValueError(f"there is no turn {line.parent} before it")
        # The text is what people see and may have changed; the pieces only colour it.
        fitting = "".join(piece.text for piece in line.pieces) == line.reply
        self._turns[line.number] = Turn(
            id=tree.new_turn_id(),
            parent=None if line.parent is None else self._turns[line.parent].id,
            created=line.created,
            question=line.question,
            model=line.model,
            reply=line.reply,
            ending=line.ending,
            error=line.error,
            statistics=line.statistics,
            packed=(pack(line.pieces, line.step_seconds),) if fitting and line.pieces else (),
        )

    def stored(self) -> Stored:
        head, turns = self._head, tuple(self._turns.values())
        opening = next((tree.opening(turn.question) for turn in turns if turn.question), "")
        last = self._turns.get(head.last or 0)
        record = Record(
            id=self._name,
            created=head.created,
            updated=head.updated,
            opening=opening,
            name=head.title if head.title and head.title != opening else None,
            system=head.system,
            model=last.model if last else None,
            leaf=last.id if last else None,
        )
        return Stored(record, turns)
