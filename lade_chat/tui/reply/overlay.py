"""Mapping from the characters of a rendered text back to its source, by walking along both."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from lade_chat.protocol.inspection import TokenSource

_PART = re.compile(r"\w+|[^\w\s]")
_SPACE_BEFORE = re.compile(r"\s[^\w\s]*\Z")
_NEAR = 12
"""Maximum distance, in characters, at which a single punctuation mark counts as the same one."""


class TintedSource:
    """A text with, for each of its characters, its token's origin."""

    def __init__(self, tokens: Iterable[tuple[str, TokenSource]]) -> None:
        self.text = ""
        self._origins: list[TokenSource] = []
        self._starts = [0]
        self.extend(tokens)

    def extend(self, tokens: Iterable[tuple[str, TokenSource]]) -> str:
        """Append tokens; return their text."""
        parts, at = list(tokens), len(self.text) - 1
        new = "".join(text for text, _ in parts)
        self.text += new
        self._origins += [origin for text, origin in parts for _ in text]
        while (at := self.text.find("\n", at + 1)) >= 0:
            self._starts.append(at + 1)
        return new

    def lines(self, first: int, end: int) -> tuple[int, int]:
        """The characters of the lines from ``first`` up to ``end``, as Markdown's blocks tell where they stand."""
        bounds = [*self._starts, len(self.text)]
        return bounds[min(first, len(bounds) - 1)], bounds[min(end, len(bounds) - 1)]

    def origin(self, position: int) -> TokenSource:
        return self._origins[position]


class StyledRun(NamedTuple):
    """Characters ``[start, end)`` of a rendered text that were guessed, all by one source."""

    start: int
    end: int
    origin: TokenSource


def guessed_runs(rendered: str, source: TintedSource, start: int, end: int) -> tuple[list[StyledRun], int]:
    """The guessed characters of a text rendered from ``source[start:end]``, and where in the source it ended.

    Both are gone through once, word by word: a word is found again as a whole, marks between words are skipped.
    """
    origins: list[TokenSource] = ["plain"] * len(rendered)
    at = start
    gap = 0  # where the white space before a part begins
    for match in _PART.finditer(rendered):
        part = match.group()
        limit = end if len(part) > 1 or part.isalnum() else min(end, at + _NEAR)
        found = source.text.find(part, at, limit)
        if found >= 0:
            space = _SPACE_BEFORE.search(source.text, max(start, found - _NEAR), found)
            place, back = match.start() - 1, space.start() if space is not None else -1
            while place >= gap and back >= start and source.text[back].isspace():
                origins[place] = source.origin(back)
                place, back = place - 1, back - 1
            origins[match.start() : match.end()] = [source.origin(found + each) for each in range(len(part))]
            at = found + len(part)
        gap = match.end()
    return _runs(origins), at


def _runs(origins: list[TokenSource]) -> list[StyledRun]:
    ends = accumulate((len(list(group)) for _, group in groupby(origins)), initial=0)
    return [StyledRun(start, end, origins[start]) for start, end in pairwise(ends) if origins[start] != "plain"]
