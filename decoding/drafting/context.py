"""ContextIndex: what followed the same last tokens before, in the prompt, the reply and earlier turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

LONGEST_MATCH = 4
LONGEST_COUNTED = 8
"""A match of four tokens or more is followed back this far, to tell a strong one."""
MATCHES_PER_LENGTH = 3
MAX_TOKENS = 32_768
"""Tokens indexed; past that the older half goes, so that memory is bounded (near 40 MB)."""
SEAM = -1
"""Stands between texts that did not follow one another. No token has this id, so no n-gram spans it."""


class ContextIndex:
    """Every token seen, in order, and where each run of one to four tokens ended last."""

    def __init__(self) -> None:
        self._history: list[int] = []
        self._ends: dict[tuple[int, ...], tuple[int, ...]] = {}

    def __len__(self) -> int:
        """The number of tokens indexed."""
        return len(self._history)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens that follow the last ones seen."""
        for token in tokens:
            self._history.append(token)
            self._index_last()
        if len(self._history) > MAX_TOKENS:
            self._drop_older_half()

    def begin(self, before: Sequence[int]) -> None:
        """Start a text that does not follow the last tokens seen; ``before`` is what it continues, if anything."""
        if self._history:
            self.extend([SEAM, *before[-LONGEST_MATCH:]])

    def after(self, text: Sequence[int], longest: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Continuations seen after the text's last tokens, the longest match first, the most recent of each first.

        Args:
            text: the text so far; its last four tokens are read.
            longest: how many tokens of each continuation are wanted at most.

        Yields:
            The length of the match and the continuation, one or more tokens.
        """
        for length in range(min(LONGEST_MATCH, len(text)), 0, -1):
            for end in self._ends.get(tuple(text[-length:]), ()):
                continuation = tuple(self._history[end + 1 : end + 1 + longest])
                if SEAM in continuation:
                    continuation = continuation[: continuation.index(SEAM)]
                if continuation:
                    yield length, continuation

    def matches(self, text: Sequence[int]) -> list[tuple[int, int]]:
        """Where the text's last tokens stood before, the longest match first, the most recent of each first.

        Returns:
            The length of each match (up to eight tokens) and the place of its last token; no place twice.
        """
        found: dict[int, int] = {}
        for length in range(min(LONGEST_MATCH, len(text)), 0, -1):
            for end in self._ends.get(tuple(text[-length:]), ()):
                if end not in found:
                    found[end] = self._match_length(text, end) if length == LONGEST_MATCH else length
        return sorted(((length, end) for end, length in found.items()), reverse=True)

    def _match_length(self, text: Sequence[int], end: int) -> int:
        length, most = LONGEST_MATCH, min(LONGEST_COUNTED, len(text), end + 1)
        while length < most and self._history[end - length] == text[-1 - length]:
            length += 1
        return length

    def following(self, place: int) -> int | None:
        """The token after a place; None at the end of a text."""
        history = self._history
        return history[place + 1] if place + 1 < len(history) and history[place + 1] != SEAM else None

    def copy(self) -> ContextIndex:
        """An index of its own over the same tokens."""
        other = ContextIndex()
        other._history = self._history.copy()
        other._ends = self._ends.copy()
        return other

    def _index_last(self) -> None:
        history, end = self._history, len(self._history) - 1
        for length in range(1, LONGEST_MATCH + 1):
            if length > len(history) or history[-length] == SEAM:
                break
            key = tuple(history[-length:])
            # One more than is proposed: the text's own end is among them and has no continuation yet.
            self._ends[key] = (end, *self._ends.get(key, ())[:MATCHES_PER_LENGTH])

    def _drop_older_half(self) -> None:
        kept = self._history[-(MAX_TOKENS // 2) :]
        self._history, self._ends = [], {}
        for token in kept:
            self._history.append(token)
            self._index_last()
