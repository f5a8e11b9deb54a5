"""A conversation as lines of JSON, which hold all that the store keeps.

The first line is of type ``conversation``; each one after it, of type ``turn``, is a turn, its parent before it. Turns
are numbered from 1, moments are seconds since 1970, and each piece is its text, origin, token and step.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from lade_chat.protocol.values import Piece, Statistics
from lade_chat.store.conversation import Conversation
from lade_chat.store.sqlite.piece_codec import UNKNOWN_ID
from lade_chat.store.values import Ending, Model

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


_encoder = msgspec.json.Encoder()


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
