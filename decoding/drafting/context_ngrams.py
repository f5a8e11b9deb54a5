"""ContextIndex: what followed the same last tokens before, in the prompt, the reply and earlier turns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, TypeAlias

from decoding.drafting.source import TEXT_BOUNDARY, Evidence, EvidenceClass, PathTable, Proposal, Source, check_tokens

MAX_MATCH = 4
"""Tokens that are looked up; from there on a match is followed backwards."""
MATCH_LENGTHS = (1, 2, 3, 4, 9, 13)
"""The shortest match of each class; no match is followed beyond the last."""
MATCHES_PER_LENGTH = 3
MAX_COUNTED = 3
"""Places that agree on a token, and places that do not, are counted up to here."""
OTHER_TEXT: EvidenceClass = len(MATCH_LENGTHS) + MAX_COUNTED * (MAX_COUNTED + 1)
"""The class of a token that followed in earlier texts alone, and not in the present one."""
MAX_TOKENS = 32_768
"""Tokens indexed; past that the older half goes, so that memory is bounded (near 40 MB)."""
MAX_FILLED = MAX_TOKENS * 3 // 4
"""Tokens of earlier texts, so that there is room for the next."""

Matches: TypeAlias = Sequence[tuple[int, int]]
"""Places in the text that a path leads to, each behind the number of tokens that match, the longest match first."""


def match_class(length: int) -> EvidenceClass:
    """Return the class of a token that followed a match of this length, at least 1."""
    return bisect_right(MATCH_LENGTHS, length) - 1


def count_class(agreeing: int, others: int) -> EvidenceClass:
    """Return the class of a token that followed in so many places, at least 1, and did not in so many others."""
    return len(MATCH_LENGTHS) + (min(agreeing, MAX_COUNTED) - 1) * (MAX_COUNTED + 1) + min(others, MAX_COUNTED)


@lru_cache(maxsize=4096)  # few are different, and steps look up many
def _evidence(first_class: EvidenceClass, length: int, agreeing: int, others: int, in_other_texts: bool) -> Evidence:
    classes = [match_class(length), count_class(agreeing, others), *([OTHER_TEXT] if in_other_texts else [])]
    return tuple([first_class + each for each in classes])


class ContextIndex(PathTable):
    """Every token seen, in order, and where each run of one to four tokens ended last."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._history: list[int] = []
        self._ends: dict[tuple[int, ...], tuple[int, ...]] = {}
        # Where the last tokens indexed ended before, by their number.
        self._ends_before: list[tuple[int, ...]] = [()] * (MAX_MATCH + 1)
        # Where the present text begins.
        self._text_start = 0

    def __len__(self) -> int:
        """The number of tokens indexed."""
        return len(self._history)

    def extend(self, tokens: Sequence[int]) -> None:
        history, ends = self._history, self._ends
        for token in tokens:
            history.append(token)
            end, last = len(history) - 1, tuple(history[-MAX_MATCH:])
            if token == TEXT_BOUNDARY:
                self._text_start = end + 1
            while TEXT_BOUNDARY in last:
                last = last[1:]
            ends_before: list[tuple[int, ...]] = [()] * (MAX_MATCH + 1)
            self._ends_before = ends_before
            while length := len(last):
                ends_before[length] = before = ends.get(last, ())
                # One more than is proposed: the text's own end is among them and has no continuation yet.
                ends[last] = (end, *before[:MATCHES_PER_LENGTH])
                last = last[1:]
        if len(self._history) > MAX_TOKENS:
            kept = self._history[-(MAX_TOKENS // 2) :]
            self._clear()
            self.extend(kept)

    def begin(self, prefix: Sequence[int]) -> None:
        if self._history and (prefix or self._history[-1] != TEXT_BOUNDARY):
            self.extend([TEXT_BOUNDARY, *prefix[-MAX_MATCH:]])

    def fill(self, texts: Iterable[Sequence[int]]) -> None:
        """Replace everything by these unrelated texts; the latest if there are too many."""
        kept: list[Sequence[int]] = []
        room = MAX_FILLED
        for text in reversed(list(texts)):
            if room < 2:
                break
            kept.append(text[-(room - 1) :])
            room -= 1 + len(kept[-1])
        self._clear()
        for text in reversed(kept):
            self.extend([*text, TEXT_BOUNDARY])

    def entries(self) -> list[int]:
        return self._history

    def restore(self, entries: Any, vocabulary: int) -> None:
        check_tokens(entries, vocabulary, least=TEXT_BOUNDARY)
        self.extend(entries[-MAX_TOKENS:])

    def expects_more(self) -> bool:
        """Return True if something likely followed the last tokens indexed.

        In this text, the last three stood in a row before, or the last two were followed by the same token twice; in
        another, the last four stood in a row: three often do by chance, once many texts are indexed.
        """
        start, before = self._text_start, self._ends_before
        if before[4] or (before[3] and before[3][0] >= start):
            return True
        places = [place for place in before[2][:MATCHES_PER_LENGTH] if place >= start]
        return len(places) > 1 and len({self._history[place + 1] for place in places}) == 1

    def after(self, text: Sequence[int], longest: int) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield the length of each match and up to ``longest`` tokens that followed it, longest and latest first."""
        for length in range(min(MAX_MATCH, len(text)), 0, -1):
            for end in self._ends.get(tuple(text[-length:]), ()):
                continuation = tuple(self._history[end + 1 : end + 1 + longest])
                if TEXT_BOUNDARY in continuation:
                    continuation = continuation[: continuation.index(TEXT_BOUNDARY)]
                if continuation:
                    yield length, continuation

    def continuations(self, text: Sequence[int], longest: int) -> Iterator[tuple[EvidenceClass, Sequence[int]]]:
        first = self.first_class
        return ((first + match_class(length), continuation) for length, continuation in self.after(text, longest))

    def start(self, text: Sequence[int]) -> Matches:
        """Return the places where the last tokens stood before, none twice, without the text's own end."""
        found: dict[int, int] = {}
        own_end, last = len(self._history) - 1, tuple(text[-MAX_MATCH:])
        while last:
            for end in self._ends.get(last, ()):
                if end != own_end and end not in found:
                    found[end] = len(last) if len(last) < MAX_MATCH else self._match_length(text, end)
            last = last[1:]
        return sorted([(length, end) for end, length in found.items()], reverse=True) if found else []

    def _match_length(self, text: Sequence[int], end: int) -> int:
        """Return the length of a match that ends at a place, known to be of ``MAX_MATCH`` tokens at least."""
        history, length = self._history, MAX_MATCH
        most = min(MATCH_LENGTHS[-1], len(text), end + 1)
        while length < most and history[end - length] == text[-1 - length]:
            length += 1
        return length

    def proposals(self, state: Matches) -> list[Proposal]:
        history, end = self._history, len(self._history) - 1
        ends: dict[int, list[tuple[int, int]]] = {}
        places = 0
        for length, place in state:
            if place < end and (token := history[place + 1]) != TEXT_BOUNDARY:
                if token in ends:
                    ends[token].append((length + 1, place + 1))
                else:
                    ends[token] = [(length + 1, place + 1)]
                places += 1
        found: list[Proposal] = []
        for token, matches in ends.items():
            # The longest match comes first and speaks for its token; the shorter ones behind it lead on as well.
            in_other_texts = max([place for _, place in matches]) <= self._text_start
            length, count = matches[0][0] - 1, len(matches)
            evidence = _evidence(self.first_class, length, count, places - count, in_other_texts)
            found.append((token, evidence, matches))
        return found

    def copy(self) -> ContextIndex:
        other = copy(self)  # lists of ends are replaced, never changed
        other._history, other._ends = self._history.copy(), self._ends.copy()
        return other


SOURCE: Source = Source(
    "context",
    ContextIndex,
    # By the length of the match, then by the places that agree, a line for each count, then for other texts alone: what
    # two small chat models settled on, in texts with nothing before them and with many.
    weights=(
        *(0.16, 0.97, 1.04, 2.05, 3.04, 3.99),
        *(0.34, -0.55, -0.51, -0.08),
        *(1.72, 0.28, 0.35, 0.32),
        *(2.11, 0.39, 0.41, 0.67),
        -0.7,
    ),
)
