"""The end of a text that may begin one of several strings, so that a stream can hold it back."""

from __future__ import annotations

from collections.abc import Iterable


def partial_match_length(text: str, strings: Iterable[str]) -> int:
    """Return the length of the longest end of ``text`` that begins one of the strings without completing it."""
    wanted = list(strings)
    longest = max(map(len, wanted), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        tail = text[-length:]
        if any(string.startswith(tail) and len(string) > length for string in wanted):
            return length
    return 0
