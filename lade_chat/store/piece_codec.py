"""A compact codec of a reply's pieces, about three bytes a token: origins, steps and their times."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, repeat

import msgspec

from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece

UNKNOWN_ID = -1
"""Stands for the token of a text whose tokens were lost."""
_MICRO = 1_000_000


class _Columns(msgspec.Struct, frozen=True, array_like=True):
    """Neighbours resemble each other, so differences and runs are kept. Times are in microseconds."""

    lengths: list[int]
    origins: list[tuple[int, TokenSource]]
    ids: list[int]
    steps: list[int]
    step_ends: list[int]


_decoder = msgspec.msgpack.Decoder(_Columns)


def pack(pieces: Sequence[Piece], step_seconds: Iterable[float] = ()) -> bytes:
    """Encode the pieces without their text, and the clock (in seconds) at the end of each step."""
    columns = _Columns(
        lengths=[len(piece.text) for piece in pieces],
        origins=[(len(list(run)), origin) for origin, run in groupby(piece.origin for piece in pieces)],
        ids=[piece.id for piece in pieces],
        steps=_differences(piece.step for piece in pieces),
        step_ends=_differences(round(moment * _MICRO) for moment in step_seconds),
    )
    return zlib.compress(msgspec.msgpack.encode(columns))


def unpack(text: str, packed: Iterable[bytes]) -> tuple[tuple[Piece, ...], tuple[float, ...]]:
    """Decode the pieces of ``text`` from one part or several, and the clock; one plain piece if they do not fit it."""
    pieces: list[Piece] = []
    moments: list[int] = []
    start = 0
    try:
        for part in packed:
            columns = _decoder.decode(zlib.decompress(part))
            origins = [origin for count, origin in columns.origins for origin in repeat(origin, count)]
            steps = accumulate(columns.steps)
            for length, origin, token, step in zip(columns.lengths, origins, columns.ids, steps, strict=True):
                pieces.append(Piece(text[start : start + length], origin, token, step))
                start += length
            moments.extend(accumulate(columns.step_ends))
    except (zlib.error, msgspec.MsgspecError, ValueError):
        start = -1
    if start != len(text):
        return (Piece(text, "plain", UNKNOWN_ID, 0),), ()
    return tuple(pieces), tuple(moment / _MICRO for moment in moments)


def token_ids(packed: bytes) -> list[int]:
    """Decode the token ids of one part alone; empty if it is broken."""
    try:
        return _decoder.decode(zlib.decompress(packed)).ids
    except (zlib.error, msgspec.MsgspecError, ValueError):
        return []


def _differences(values: Iterable[int]) -> list[int]:
    before, differences = 0, []
    for value in values:
        differences.append(value - before)
        before = value
    return differences
