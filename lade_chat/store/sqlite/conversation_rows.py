"""Conversations and turns as table rows: statements that write them, and readers.

Every change may be made twice, or after another program has purged what it belongs to, which it then writes again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import TypeVar, get_args

import msgspec

from lade_chat.protocol.values import EarlierReply, FinishReason, Statistics
from lade_chat.store.piece_codec import pack, token_ids
from lade_chat.store.records import Model, Record, Summary, Turn
from lade_chat.store.sqlite.database import Statement
from lade_chat.store.sqlite.schema import transaction
from lade_chat.store.tree import Snapshot

RECORD_COLUMNS = "id, created, updated, opening, name, system, model, leaf, deleted, chat"
_TWINS = """FROM conversations AS other WHERE other.opening = conversations.opening AND other.deleted IS NULL
    AND other.name IS NULL AND conversations.name IS NULL"""
TWIN = f"""1 + (SELECT count(*) {_TWINS}
    AND (other.created, other.id) < (conversations.created, conversations.id))"""
"""Of a row of ``conversations``: ``Summary.twin``."""
LATER = f"""coalesce((SELECT opening(CAST(question AS BLOB)) FROM turns WHERE conversation = conversations.id
    AND question IS NOT NULL AND opening(CAST(question AS BLOB)) <> conversations.opening
    AND EXISTS (SELECT 1 {_TWINS} AND other.id <> conversations.id) ORDER BY turns.created, turns.id LIMIT 1), '')"""
"""Of a row of ``conversations``: ``Summary.later``."""
_ENDINGS = {*get_args(FinishReason), "failed"}

T = TypeVar("T")


def put(record: Record, turns: Iterable[Turn]) -> list[Statement]:
    """Write a conversation with all of its turns, parents first."""
    return [put_record(record), *(each for turn in turns for each in put_turn(record.id, turn))]


def put_record(record: Record, *, revive: bool = False) -> Statement:
    """Write a conversation; one that is there keeps its name, and stays deleted unless it is to ``revive``."""
    return (
        f"""INSERT INTO conversations ({RECORD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET updated = max(updated, excluded.updated), opening = excluded.opening,
        system = excluded.system, model = excluded.model, leaf = excluded.leaf, chat = max(chat, excluded.chat),
        deleted = {"NULL" if revive else "deleted"}""",
        (
            *(record.id, record.created, record.updated, record.opening, record.name, record.system),
            *(_json(record.model), record.leaf, record.deleted, record.chat),
        ),
    )


def put_turn(conversation: str, turn: Turn) -> list[Statement]:
    """Write a turn with the whole of its reply. One that has ended is never overwritten by one that has not."""
    statements: list[Statement] = [
        (
            """INSERT INTO turns (id, conversation, parent, created, ending, model, error, question, reply, statistics,
            pieces) VALUES (?, ?, (SELECT id FROM turns WHERE id = ?), ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET parent = coalesce(excluded.parent, parent), created = excluded.created,
            ending = excluded.ending, model = coalesce(excluded.model, model), error = excluded.error,
            reply = excluded.reply, statistics = excluded.statistics, pieces = excluded.pieces, indexed = 0
            WHERE excluded.ending IS NOT NULL OR turns.ending IS NULL""",
            (
                *(turn.id, conversation, turn.parent, turn.created, turn.ending, _json(turn.model), turn.error),
                *(turn.question, turn.reply, _json(turn.statistics), _one_part(turn)),
            ),
        ),
    ]
    if turn.ending is not None:
        statements.append(("DELETE FROM chunks WHERE turn = ?", (turn.id,)))
    return statements


def put_chunk(turn: int, number: int, text: str, packed: bytes, statistics: Statistics) -> Statement:
    """Append a part to a running reply. If its turn is gone nothing is written: the whole reply is, when it ends."""
    return (
        "INSERT OR REPLACE INTO chunks (turn, number, text, statistics, pieces) "
        "SELECT id, ?, ?, ?, ? FROM turns WHERE id = ?",
        (number, text, _json(statistics), packed, turn),
    )


def fold(turn: Turn) -> list[Statement]:
    """Write what there is of a reply that never ended in place of its chunks."""
    return [
        (
            "UPDATE turns SET reply = ?, statistics = ?, pieces = ?, indexed = 0 WHERE id = ?",
            (turn.reply, _json(turn.statistics), _one_part(turn), turn.id),
        ),
        ("DELETE FROM chunks WHERE turn = ?", (turn.id,)),
    ]


def remove_turn(turn: int) -> Statement:
    """Forget a turn; those that follow it become first turns."""
    return ("DELETE FROM turns WHERE id = ?", (turn,))


def change(conversation: str, **values: str | int | float | None) -> Statement:
    """Set some of a conversation's columns; without it, nothing."""
    columns = ", ".join(f"{name} = ?" for name in values)
    return (f"UPDATE conversations SET {columns} WHERE id = ?", (*values.values(), conversation))


def remove_if_empty(conversation: str) -> Statement:
    """Forget a conversation in which nothing is left."""
    return (
        "DELETE FROM conversations WHERE id = ? AND NOT EXISTS (SELECT 1 FROM turns WHERE conversation = ?)",
        (conversation, conversation),
    )


def load(connection: sqlite3.Connection, conversation: str) -> Snapshot | None:
    """The conversation with all of its turns, oldest first; None if there is no such conversation."""
    with transaction(connection, writes=False):
        row = connection.execute(f"SELECT {RECORD_COLUMNS} FROM conversations WHERE id = ?", (conversation,)).fetchone()
        if row is None:
            return None
        return Snapshot(_record(row), {turn.id: turn for turn in turns(connection, conversation)})


def has_more(connection: sqlite3.Connection, about: Record, turns: Container[int | None]) -> bool:
    """Tell whether another program has said something in the conversation since ``about`` and ``turns`` were read.

    The time alone would not do: a reply that was running here meanwhile has ended later still.
    """
    found = connection.execute(
        """SELECT updated, (SELECT id FROM turns WHERE conversation = conversations.id ORDER BY created DESC LIMIT 1)
        FROM conversations WHERE id = ?""",
        (about.id,),
    ).fetchone()
    return found is not None and (found[0] > about.updated or found[1] not in turns)


def latest(connection: sqlite3.Connection, *, chat: bool) -> str | None:
    """The conversation used last; with ``chat`` of those held in the chat, if there are any."""
    first = "chat DESC, " if chat else ""
    row = connection.execute(
        f"SELECT id FROM conversations WHERE deleted IS NULL ORDER BY {first}updated DESC, id DESC LIMIT 1"
    ).fetchone()
    return None if row is None else str(row[0])


def summaries(rows: Iterable[Sequence[object]]) -> tuple[Summary, ...]:
    """Summaries from rows that hold a record's columns, and then the other fields."""
    width = len(Record.__struct_fields__)
    names = Summary.__struct_fields__[1:]

    def values(row: Sequence[object]) -> dict[str, object]:
        found = {"record": _record(row[:width]), **dict(zip(names, row[width:], strict=True))}
        return found | {"is_whole": bool(found["is_whole"])}

    return tuple(_convert(values(row), Summary) for row in rows)


def prompts(connection: sqlite3.Connection, limit: int) -> tuple[str, ...]:
    """The newest questions, each once, without those of deleted conversations."""
    found: dict[str, None] = {}
    for (question,) in connection.execute(
        """SELECT question FROM turns JOIN conversations ON conversations.id = conversation
        WHERE question IS NOT NULL AND deleted IS NULL ORDER BY turns.created DESC, turns.id DESC"""
    ):
        if len(found) >= limit:
            break
        found.setdefault(question)
    return tuple(found)


def earlier_replies(connection: sqlite3.Connection, fingerprint: str, max_tokens: int) -> dict[int, EarlierReply]:
    """The latest replies of the model by their turns, ``max_tokens`` at most and the latest first.

    None of a deleted conversation, and no copy of another. A continuation answers the question of what it continues.
    """
    found: dict[int, EarlierReply] = {}
    same: dict[tuple[str, bytes], int] = {}
    for turn, question, reply, packed in connection.execute(
        """SELECT turns.id, coalesce(question, (
            WITH RECURSIVE continued (question, parent) AS (
                SELECT turns.question, turns.parent
                UNION SELECT each.question, each.parent FROM continued JOIN turns AS each ON each.id = continued.parent
                WHERE continued.question IS NULL
            ) SELECT question FROM continued WHERE question IS NOT NULL
        ), ''), reply, pieces FROM turns
        JOIN conversations ON conversations.id = conversation
        WHERE deleted IS NULL AND ending IS NOT NULL AND pieces IS NOT NULL AND instr(turns.model, ?)
        ORDER BY turns.created DESC, turns.id DESC""",
        (f'"fingerprint":{msgspec.json.encode(fingerprint).decode()}',),
    ):
        ids = token_ids(packed)
        if found.pop(same.get((reply, packed), 0), None) is None:
            max_tokens -= len(ids)
        same[reply, packed] = turn
        if max_tokens < 0:
            break
        if ids and min(ids) >= 0:
            found[turn] = EarlierReply(question, tuple(ids))
    return found


def turns(connection: sqlite3.Connection, conversation: str) -> Iterator[Turn]:
    """A conversation's turns, oldest first, each with what was saved of its reply."""
    chunks: dict[int, list[tuple[str, str | None, bytes]]] = {}
    for turn, *chunk in connection.execute(
        """SELECT turn, text, chunks.statistics, chunks.pieces FROM turns JOIN chunks ON turn = id
        WHERE conversation = ? ORDER BY turn, number""",
        (conversation,),
    ):
        chunks.setdefault(turn, []).append((chunk[0], chunk[1], chunk[2]))
    for row in connection.execute(
        """SELECT id, parent, created, question, model, reply, ending, error, statistics, pieces FROM turns
        WHERE conversation = ? ORDER BY created, id""",
        (conversation,),
    ):
        yield _turn(row, chunks.get(row[0], []))


def _turn(row: Sequence[object], chunks: Sequence[tuple[str, str | None, bytes]]) -> Turn:
    values = dict(zip(("id", "parent", "created", "question"), row, strict=False))
    reply, statistics, packed = row[5], row[8], row[9]
    return _convert(
        values
        | {
            "model": _value(row[4], Model),
            "reply": "".join((str(reply), *(text for text, _, _ in chunks))),
            "ending": row[6] if row[6] in _ENDINGS else None,
            "error": row[7],
            "statistics": _value(chunks[-1][1] if chunks else statistics, Statistics),
            "packed": tuple(part for part in (packed, *(part for _, _, part in chunks)) if part is not None),
        },
        Turn,
    )


def _record(row: Sequence[object]) -> Record:
    values = dict(zip(Record.__struct_fields__, row, strict=True))
    return _convert(values | {"model": _value(values["model"], Model), "chat": bool(values["chat"])}, Record)


def _convert(values: dict[str, object], kind: type[T]) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise sqlite3.DataError(str(error)) from error


def _one_part(turn: Turn) -> bytes | None:
    if len(turn.packed) > 1:
        return pack(turn.pieces(), turn.step_seconds())
    return turn.packed[0] if turn.packed else None


def _json(value: Model | Statistics | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _value(text: object, kind: type[T]) -> T | None:
    """Decode JSON; None if it is not valid, since a text is worth more than its metrics."""
    try:
        return msgspec.json.decode(text, type=kind) if isinstance(text, str) else None
    except msgspec.MsgspecError:
        return None
