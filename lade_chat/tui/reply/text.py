"""A growing reply: its exact text, the span and origin of each token, and whether it is Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece


class TokenSpan(NamedTuple):
    """One token's characters ``[start, end)`` in the reply; empty for a special or unfinished token."""

    start: int
    end: int
    origin: TokenSource
    step: int


class ReplyText:
    """The text and token spans of a reply, append-only; colours, copies and storage are derived from it."""

    def __init__(self) -> None:
        self.text = ""
        self.spans: list[TokenSpan] = []

    def append(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            start = len(self.text)
            self.text += piece.text
            self.spans.append(TokenSpan(start, len(self.text), piece.origin, piece.step))


FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_MARKS = re.compile(
    r"^#{1,6} \S|^\s{0,3}([-*+]|\d{1,3}[.)]) +\S|^> |^\|.*\|\s*$|\*\*\S|`[^`\n]+`|\]\(\S+\)", re.MULTILINE
)
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)


def is_markdown(text: str) -> bool:
    """Return whether rendering improves a text and loses nothing (unfenced code would lose its indentation)."""
    outside, fence, fenced = [], "", False
    for line in text.splitlines():
        mark = FENCE.match(line)
        if mark and not fence:
            fence, fenced = mark[1], True
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            outside.append(line)
    rest = "\n".join(outside)
    has_list = re.search(r"^\s{0,3}([-*+]|\d{1,3}[.)]) +\S", rest, re.MULTILINE)
    if _INDENTED.search(rest) and not has_list:
        return False
    return fenced or _MARKS.search(rest) is not None
