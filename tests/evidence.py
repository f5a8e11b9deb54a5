"""Classes of evidence by what a source saw, for the tests of estimates and tables."""

from __future__ import annotations

from bisect import bisect_right

from decoding import DraftTables, Origin
from decoding.drafting.context_ngrams import MATCH_LENGTHS, OTHER_TEXT, count_class, match_class
from decoding.drafting.expander import CandidateExpander, SearchNode
from decoding.drafting.registry import OFFSETS, ORIGINS
from decoding.drafting.similar_tokens import COUNT
from decoding.drafting.source import EvidenceClass
from decoding.drafting.successors import (
    CLASSES_PER_RANK,
    DISTANCES,
    GAPS,
    MAX_AFTER_REJECTED,
    MAX_AFTER_SIMILAR,
    WIDTH,
)


def evidence_class(origin: Origin, number: int) -> EvidenceClass:
    """The class that a source numbers so, in the numbering of all sources."""
    return OFFSETS[ORIGINS.index(origin)] + number


def successor_class(rank: int, gap: float, *, after_pair: bool = False) -> EvidenceClass:
    return (WIDTH * after_pair + rank) * CLASSES_PER_RANK + bisect_right(GAPS, gap)


def by_match(length: int) -> EvidenceClass:
    return evidence_class(Origin.CONTEXT, match_class(length))


def by_count(agreeing: int, others: int) -> EvidenceClass:
    return evidence_class(Origin.CONTEXT, count_class(agreeing, others))


def by_gap(rank: int, gap: float, *, after_pair: bool = False) -> EvidenceClass:
    return evidence_class(Origin.SUCCESSOR, successor_class(rank, gap, after_pair=after_pair))


IN_OTHER_TEXTS = evidence_class(Origin.CONTEXT, OTHER_TEXT)
TRAJECTORY = evidence_class(Origin.TRAJECTORY, 0)
AFTER_REJECTED = [
    evidence_class(Origin.SUCCESSOR, 2 * WIDTH * CLASSES_PER_RANK + rank) for rank in range(MAX_AFTER_REJECTED)
]
INSTEAD = [AFTER_REJECTED[-1] + 1 + rank for rank in range(WIDTH)]
AFTER_SIMILAR = [INSTEAD[-1] + 1 + number for number in range(COUNT * len(DISTANCES) * MAX_AFTER_SIMILAR)]
CLASSES: list[EvidenceClass] = [
    *(
        by_gap(rank, gap, after_pair=pair)
        for pair in (False, True)
        for rank in range(WIDTH)
        for gap in (0.1, 1.0, 3.0, 9.0)
    ),
    *AFTER_REJECTED,
    *INSTEAD,
    *AFTER_SIMILAR,
    *(by_match(length) for length in MATCH_LENGTHS),
    *(by_count(agreeing, others) for agreeing in (1, 2, 3) for others in range(4)),
    IN_OTHER_TEXTS,
    TRAJECTORY,
]
SURE, UNSURE = by_gap(0, 9.0), by_gap(0, 0.0)


def followers_of(expander: CandidateExpander, candidate: SearchNode | None = None) -> list[SearchNode]:
    """The likely followers of a candidate; without one, of the text."""
    return expander.expand(candidate or expander.root, 0)[1]


def first_probabilities(tables: DraftTables, text: list[int]) -> dict[int, float]:
    """The probability of each token that may follow a text."""
    return {child.pair[1]: child.probability for child in followers_of(CandidateExpander(tables, text))}


def only_successors(after: dict[int, int]) -> DraftTables:
    """One successor a token, of the class ``UNSURE``."""
    tables = DraftTables()
    for token, following in after.items():
        tables[Origin.SUCCESSOR].learn(token, [following], [1.0])
    return tables
