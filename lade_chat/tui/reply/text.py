"""A growing reply: its exact text, and the span and origin of each token."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lade_chat.protocol.inspection import Origin
from lade_chat.protocol.values import Piece


class TokenSpan(NamedTuple):
    """One token's characters ``[start, end)`` in the reply; empty for a special or unfinished token."""

    start: int
    end: int
    origin: Origin
    step: int


class ReplyText:
    """Append only: the source of truth for colours, copies and the conversation."""

    def __init__(self) -> None:
        self.text = ""
        self.spans: list[TokenSpan] = []

    def append(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            start = len(self.text)
            self.text += piece.text
            self.spans.append(TokenSpan(start, len(self.text), piece.origin, piece.step))
