"""Replies as an engine would tell them, and conversations full of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any, get_args

from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import FinishReason, Piece, Sampling, Sizes, Statistics
from lade_chat.store import search
from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Model, Record, Turn
from lade_chat.store.saved_conversation import Conversation
from lade_chat.store.sqlite.conversation_rows import put

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
_ORIGINS: tuple[TokenSource, ...] = get_args(TokenSource)


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


def titles(store: Store, matching: str = "") -> list[str]:
    return [summary.title for summary in store.page(matching)]


def deleted_titles(store: Store) -> list[str]:
    """The titles of the conversations that can be restored."""
    return [title for (title,) in sql(store, "SELECT opening FROM conversations WHERE deleted IS NOT NULL")]


def purge(store: Store) -> None:
    """Have what is deleted removed for good, as the next time that the file is opened after more than a month."""
    sql(store, "UPDATE conversations SET deleted = 0 WHERE deleted IS NOT NULL")
    store.close()
    store.page()


def fill(store: Store, count: int) -> None:
    """Conversations of one turn, a second apart."""
    store.page()  # the file is there
    with closing(sqlite3.connect(store.path)) as connection, connection:
        for number in range(count):
            record = Record(f"c{number:05}", number, number, f"title {number}", model=MODEL, leaf=number + 1)
            turn = Turn(number + 1, None, number, f"question {number % 700}", MODEL, f"answer {number * 7919}", "eos")
            for statement, values in put(record, (turn,)):
                connection.execute(statement, values)


def index(store: Store) -> None:
    """Index what is not indexed yet."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        assert search.prepare(connection)
        search.index_new(connection)


LONG = " ".join(f"word{number * 7919 % 10_007}" for number in range(1000))


def replies(store: Store) -> list[str]:
    latest = store.latest()
    return [turn.reply for turn in latest.path] if latest is not None else []
