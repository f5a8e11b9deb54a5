"""SuccessorTable: the likeliest next tokens last seen after a token, recycled from logits already paid for."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache
from itertools import count, takewhile
from typing import Any, NamedTuple, TypeAlias

from decoding.drafting.similar_tokens import COUNT, MAX_TOKENS, SignsOfAll, SimilarTokens
from decoding.drafting.source import (
    TEXT_BOUNDARY,
    Evidence,
    EvidenceClass,
    Pair,
    Source,
    TokenTable,
    check_tokens,
    merged,
)

WIDTH = 8
"""Maximum number of successors kept for a token."""
GAPS = (0.7, 2.0, 4.0)
"""Bounds between the evidence classes of successors of one rank, in nats: of the likeliest's lead over the second, of
another's distance from the likeliest."""
CLASSES_PER_RANK = len(GAPS) + 1
MAX_AFTER_REJECTED = 4
"""Successors of a rejected candidate that may follow the token chosen in its place."""
MAX_AFTER_SIMILAR = 4
"""Successors of a similar token that may follow one that is new."""
DISTANCES = (0.23, 0.3, 0.35, 0.4, 0.45)
"""Bounds between the evidence classes of similar tokens, in shares of signs that differ. Beyond them none counts."""
MAX_ENTRIES = 65_536
"""Tokens and pairs that have an entry; the least recently seen goes (near 47 MB)."""

Key: TypeAlias = int | Pair
Entry: TypeAlias = Mapping[int, Evidence]
"""Successors, and how sure of each the model was."""


class Successors(NamedTuple):
    """The likeliest tokens after two tokens, the likeliest first, with their logits."""

    pair: Pair
    tokens: Sequence[int]
    logits: Sequence[float]


def check_successors(last: Any, successors: Any, logits: Any, vocabulary: int, count: int = 2) -> None:
    """Raise ValueError unless these are the likeliest successors of so many last tokens, with a logit each."""
    check_tokens(last, vocabulary)
    check_tokens(successors, vocabulary)
    if len(last) != count or not isinstance(logits, (list, tuple)) or not {*map(type, logits)} <= {float, int}:
        raise ValueError(f"successors stand behind {count} tokens, with numbers for logits")
    if not 1 <= len(successors) == len(logits) <= WIDTH:
        raise ValueError(
            f"there are {len(successors)} successors with {len(logits)} logits, not 1 to {WIDTH} with one each"
        )


class _Evidences:
    """The evidence for a token in a row of successors, in classes of a table that begin with this one."""

    def __init__(self, first_class: EvidenceClass) -> None:
        classes = count(first_class)

        def alone(number: int) -> list[Evidence]:
            return [(next(classes),) for _ in range(number)]

        # By rank and gap, CLASSES_PER_RANK to a rank.
        self.of_token, self.of_pair = alone(WIDTH * CLASSES_PER_RANK), alone(WIDTH * CLASSES_PER_RANK)
        self.of_both = [one + other for one, other in zip(self.of_token, self.of_pair, strict=True)]
        # By rank, behind a rejected candidate and in the place of the last token.
        self.after_rejected, self.instead = alone(MAX_AFTER_REJECTED), alone(WIDTH)
        # By rank behind the nearest and the second similar token, by their distance.
        self.after_similar = [[alone(MAX_AFTER_SIMILAR) for _ in DISTANCES] for _ in range(COUNT)]


_evidences = lru_cache(maxsize=4)(_Evidences)


class _Row:
    """The likeliest successors of a token with their logits, as entries once they are asked for."""

    __slots__ = ("after_both", "after_pair", "after_token", "logits", "successors", "update")

    def __init__(self, successors: Sequence[int], logits: Sequence[float], update: int) -> None:
        self.successors, self.logits, self.update = successors, logits, update
        self.after_token: Entry | None = None
        self.after_pair: Entry | None = None
        self.after_both: Entry | None = None


class SuccessorTable(TokenTable):
    """Token Recycling (Luo et al. 2024, arXiv 2408.08696): the tokens that the model last found likely after a token.

    They are also kept by the last two tokens, which predict better. What was likely after a rejected candidate may
    follow the token chosen in its place: often one word replaces another, and the sentence goes on as before. What was
    likely in the place of the last token is likelier behind it (LogitSpec, Liu et al. 2025, arXiv 2507.01449). A last
    token that is new may be followed by what was likely after those most like it.

    Attributes:
        similar: finds tokens like another, of those that have an entry; None where no model is known.
        updates: the number of updates so far, which tells what a text has taught from what was known before.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[Key, _Row] = OrderedDict()
        self._replaced: tuple[Pair | None, Entry] = None, {}
        self.similar: SimilarTokens | None = None
        self._not_compared: list[int] = []  # tokens that `similar` has yet to take in
        self.updates = 0

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._seen)

    def compare_by(self, signs_of_all: SignsOfAll | None) -> None:
        """Find similar tokens by the signs of their embeddings from now on, among those that have an entry."""
        self.similar = None if signs_of_all is None else SimilarTokens(signs_of_all)
        self._not_compared = [key for key in self._seen if isinstance(key, int)][-MAX_TOKENS:]

    def learn(self, key: Key, successors: Sequence[int], logits: Sequence[float]) -> None:
        """Replace the entry of a token or a pair."""
        self.updates += 1
        if isinstance(key, int) and key not in self._seen:
            self._not_compared.append(key)
        self._seen[key] = _Row(successors, logits, self.updates)
        self._seen.move_to_end(key)
        self._bound()

    def learn_rows(
        self, pairs: Sequence[Pair], successors: Sequence[Sequence[int]], logits: Sequence[Sequence[float]]
    ) -> None:
        seen = self._seen
        self.updates = update = self.updates + 1
        for pair, of_token, of_logits in zip(pairs, successors, logits, strict=True):
            token = pair[1]
            if token not in seen:
                self._not_compared.append(token)
            seen[token] = seen[pair] = _Row(of_token, of_logits, update)
            seen.move_to_end(token)
            seen.move_to_end(pair)
        self._bound()

    def extend(self, tokens: Sequence[int]) -> None:
        self._replaced = None, {}

    def learn_rejected(self, pair: Pair, successors: Sequence[int]) -> None:
        self._replaced = pair, dict(zip(successors, _evidences(self.first_class).after_rejected, strict=False))

    def after(self, pair: Pair) -> Entry:
        """Return the likeliest successors of a pair and of its last token; empty if both are new. Do not modify it."""
        found, (replaced, more) = self._after(pair), self._replaced
        return found if pair != replaced else merged(found, more)

    def after_last(self, pair: Pair) -> Entry:
        found = self.after(pair)
        if self.similar is None or not self._seen or pair[1] in self._seen:
            return found
        new, self._not_compared = self._not_compared, []
        after_similar, entry = _evidences(self.first_class).after_similar, dict(found)
        for place, (token, distance) in enumerate(self.similar.nearest(pair[1], new)):
            row = self._seen.get((pair[0], token)) or self._seen.get(token)
            if row is not None and distance < DISTANCES[-1]:
                evidences = after_similar[place][bisect_right(DISTANCES, distance)]
                for following, evidence in zip(row.successors, evidences, strict=False):
                    entry[following] = entry[following] + evidence if following in entry else evidence
        return entry

    def weighed(self, found: Entry, before: int, pair: Pair) -> Entry:
        if before == TEXT_BOUNDARY:
            return found
        row = self._seen.get((before, pair[0])) or self._seen.get(pair[0])
        if row is None:
            return found
        others = [token for token in row.successors if token != pair[1]]
        instead = _evidences(self.first_class).instead
        more = {token: instead[rank] for rank, token in enumerate(others) if token in found}
        return merged(found, more)

    def _after(self, pair: Pair) -> Entry:
        seen = self._seen
        row, row_of_pair = seen.get(pair[1]), seen.get(pair)
        if row is None:
            return {}
        if row_of_pair is row:
            # The token was last seen in this very pair.
            if (of_both := row.after_both) is None:
                of_both = row.after_both = self._entry(row, _evidences(self.first_class).of_both)
            return of_both
        if (of_token := row.after_token) is None:
            of_token = row.after_token = self._entry(row, _evidences(self.first_class).of_token)
        if row_of_pair is None:
            return of_token
        if (of_pair := row_of_pair.after_pair) is None:
            of_pair = row_of_pair.after_pair = self._entry(row_of_pair, _evidences(self.first_class).of_pair)
        return merged(of_token, of_pair)

    def learnt_since(self, updates: int) -> list[Successors]:
        """Return what was learnt of pairs after so many updates, the latest last."""
        found = [
            Successors(key, row.successors, row.logits)
            for key, row in takewhile(lambda entry: entry[1].update > updates, reversed(self._seen.items()))
            if isinstance(key, tuple)
        ]
        return found[::-1]

    def fill(self, successors: Iterable[Successors]) -> None:
        """Learn what :meth:`learnt_since` gave of several texts, the latest last."""
        if given := list(successors):
            self.learn_rows(*zip(*given, strict=True))

    def entries(self) -> list[tuple[Key, list[int], list[float]]]:
        return [(key, list(row.successors), list(row.logits)) for key, row in self._seen.items()]

    def restore(self, entries: Any, vocabulary: int) -> None:
        for key, of_token, logits in entries:
            pair = isinstance(key, list)
            check_successors(key if pair else [key], of_token, logits, vocabulary, 2 if pair else 1)
            self.learn(tuple(key) if pair else key, of_token, logits)

    def copy(self) -> SuccessorTable:
        other = copy(self)
        other._seen = self._seen.copy()
        other.compare_by(None if self.similar is None else self.similar.signs_of_all)
        return other

    def _entry(self, row: _Row, evidences: Sequence[Evidence]) -> Entry:
        logits, at = row.logits, 0
        best = logits[0]
        gap = best - logits[1] if len(logits) > 1 else 0.0
        entry: dict[int, Evidence] = {}
        for token, logit in zip(row.successors, logits, strict=True):
            entry[token] = evidences[at + bisect_right(GAPS, best - logit if at else gap)]
            at += CLASSES_PER_RANK
        return entry

    def _bound(self) -> None:
        while len(self._seen) > MAX_ENTRIES:
            self._seen.popitem(last=False)


SOURCE: Source = Source(
    "successor",
    SuccessorTable,
    # A line for each rank, by the gap, after a token and then after a pair: what two small chat models settled on.
    weights=(
        *(1.0, 1.04, 1.21, 1.71),
        *(0.38, 0.43, 0.38, 0.09),
        *(0.28, -0.03, -0.02, -0.27),
        *(-0.2, -0.41, -0.33, -0.58),
        *(-0.26, -0.45, -0.52, -0.66),
        *(-0.49, -0.69, -0.77, -0.88),
        *(-0.61, -0.79, -0.89, -1.06),
        *(-0.65, -0.8, -0.85, -1.15),
        *(1.09, 1.19, 1.42, 1.9),
        *(0.93, 1.0, 0.71, 0.74),
        *(0.64, 0.85, 0.63, 0.39),
        *(0.57, 0.68, 0.59, 0.08),
        *(0.46, 0.49, 0.35, 0.12),
        *(0.27, 0.28, 0.12, -0.03),
        *(0.03, 0.04, -0.13, -0.37),
        *(-0.18, -0.17, -0.35, -0.35),
        # Behind a rejected candidate, by rank alone.
        *(0.87, -0.33, -0.9, -1.42),
        # In the place of the last token, by rank.
        *(1.1, 1.1, 1.0, 0.9, 0.8, 0.8, 0.8, 0.8),
        # Behind similar tokens: the nearest and the second, by their distance, by rank.
        *(
            of_distance - of_place - of_rank
            for of_place in (0.0, 0.5)
            for of_distance in (1.2, 0.2, -0.6, -1.1, -1.6)
            for of_rank in (0.0, 0.6, 0.9, 1.1)
        ),
    ),
    row_width=WIDTH,
)
