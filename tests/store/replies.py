"""Replies as an engine would tell them, and conversations full of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, get_args

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.inspection import Origin
from lade_chat.protocol.values import FinishReason, Piece, Sampling, Sizes, Statistics
from lade_chat.store.conversation import Conversation
from lade_chat.store.store import Store
from lade_chat.store.values import Model

MODEL = Model("tiny", "/models/tiny", "cpu", "float32")
STATISTICS = Statistics(
    generated_tokens=12,
    steps=5,
    seconds=0.25,
    time_to_first_token=0.05,
    lookahead=True,
    sizes=Sizes(7, 5, 7),
    accepted_runs=(1, 2),
    sampling=Sampling(temperature=0.7, seed=3),
)
_ORIGINS: tuple[Origin, ...] = get_args(Origin)


def sql(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """Run a statement on the store's file, as another program would."""
    with closing(sqlite3.connect(store.path)) as connection, connection:
        return connection.execute(statement).fetchall()


def tokens(text: str, first: int = 0) -> Tokens:
    """One piece a word, of every origin by turns, two to a step; ``first`` is the number of the first piece."""
    words = text.split(" ")
    texts = [word if number == 0 else f" {word}" for number, word in enumerate(words)]
    pieces = tuple(
        Piece(each, _ORIGINS[number % len(_ORIGINS)], 100 + number, number // 2)
        for number, each in enumerate(texts, first)
    )
    ends = tuple(round((step + 1) * 0.025, 6) for step in sorted({piece.step for piece in pieces}))
    return Tokens(pieces, STATISTICS, step_seconds=ends)


def finished(reason: FinishReason = "eos") -> ReplyFinished:
    return ReplyFinished(reason, STATISTICS)


def answer(conversation: Conversation, text: str, reason: FinishReason = "eos") -> None:
    """Answer what was asked."""
    conversation.grow(tokens(text))
    conversation.finish(finished(reason))


def say(conversation: Conversation, question: str, text: str) -> int:
    """Ask and answer; returns the turn's id."""
    conversation.ask(question, MODEL)
    answer(conversation, text)
    assert conversation.last is not None
    return conversation.last.id
