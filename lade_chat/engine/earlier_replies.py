"""Earlier replies, which warm up a session: the codec of what was learnt in them, and those a race may know."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import takewhile

import msgspec

from decoding.drafting.successors import WIDTH, Successors
from lade_chat.protocol.values import EarlierReply

KEPT = 4
"""Successors stored for each pair; more would hardly make a new conversation faster.

Pairs with no more than these are not stored: where candidates are expensive, few are learnt, and those do not help."""
STEP = 0.25
"""Quantisation step of the distances from the largest logit, each stored in a byte."""
_LOGITS = tuple(-STEP * steps for steps in range(256))


class _SuccessorColumns(msgspec.Struct, frozen=True, array_like=True):
    """The columns of the stored table: pairs (flattened), successors per pair, their ids, their quantised distances."""

    pairs: list[int]
    counts: bytes
    tokens: list[int]
    distances: bytes


def encode_successors(learnt: Sequence[Successors]) -> bytes:
    """Return successors as bytes, about ten for each pair; empty if there are none to store."""
    rich = [each for each in learnt if len(each.tokens) > KEPT]
    if not rich:
        return b""
    rows = [(each.tokens[:KEPT], each.logits[:KEPT]) for each in rich]
    columns = _SuccessorColumns(
        [token for each in rich for token in each.pair],
        bytes(len(tokens) for tokens, _ in rows),
        [token for tokens, _ in rows for token in tokens],
        bytes(round(min(255, (logits[0] - logit) / STEP)) for _, logits in rows for logit in logits),
    )
    return zlib.compress(msgspec.msgpack.encode(columns))


def decode_successors(encoded: bytes, vocabulary: int) -> list[Successors]:
    """Return the successors encoded; empty if the bytes are corrupt or hold ids beyond the vocabulary."""
    try:
        columns = msgspec.msgpack.decode(zlib.decompress(encoded), type=_SuccessorColumns)
    except (zlib.error, msgspec.MsgspecError):
        return []
    pairs, counts, tokens, distances = msgspec.structs.astuple(columns)
    whole = len(pairs) == 2 * len(counts) > 0 and sum(counts) == len(tokens) == len(distances)
    if not whole or not 1 <= min(counts) <= max(counts) <= WIDTH:
        return []
    if min(min(pairs), min(tokens)) < 0 or max(max(pairs), max(tokens)) >= vocabulary:
        return []
    found, start = [], 0
    for before, token, count in zip(pairs[::2], pairs[1::2], counts, strict=True):
        end = start + count
        logits = [_LOGITS[distance] for distance in distances[start:end]]
        found.append(Successors((before, token), tokens[start:end], logits))
        start = end
    return found


def learnt_in(replies: Sequence[EarlierReply], vocabulary: int) -> tuple[list[tuple[int, ...]], list[Successors]]:
    """Return the tokens of stored replies, and the successors learnt while they were decoded."""
    successors = [each for reply in replies for each in decode_successors(reply.successors, vocabulary)]
    return [reply.ids for reply in replies], successors


def without_answers(replies: Sequence[EarlierReply], question: str) -> tuple[EarlierReply, ...]:
    """Return the replies to other questions, without the successors learnt since this one's answer.

    Those could reveal the answer to a race over the same question.
    """
    before = tuple(takewhile(lambda reply: reply.question != question, replies))
    after = (reply for reply in replies[len(before) :] if reply.question != question)
    return before + tuple(msgspec.structs.replace(reply, successors=b"") for reply in after)
