"""Source: one way to find candidates, with a table of what it has learnt and the weights of its evidence."""

# ruff: noqa: B027 - an empty method is for sources that have no use for it.

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

EvidenceClass: TypeAlias = int
"""A kind of evidence for a candidate; acceptance is estimated for each. Sources number their own classes on from
:attr:`DraftTable.first_class`."""
Evidence: TypeAlias = tuple[EvidenceClass, ...]
Proposal: TypeAlias = tuple[int, Evidence, Any]
"""A token, its evidence, and the state behind that token; a falsy state leads no further."""
Pair: TypeAlias = tuple[int, int]
"""Two consecutive tokens; the table proposes what follows them."""
TEXT_BOUNDARY = -1
"""Stands between texts that did not follow one another. No token has this id, so no n-gram spans it."""


class DraftTable(ABC):
    """Table of one source, of bounded size: it learns from steps and proposes candidates.

    Attributes:
        first_class: the number of its first evidence class among those of all sources.
    """

    first_class: EvidenceClass = 0

    @abstractmethod
    def __len__(self) -> int:
        """The number of entries."""

    @abstractmethod
    def copy(self) -> Self:
        """Return an independent table with the same entries."""

    # Learning.

    def begin(self, prefix: Sequence[int]) -> None:
        """Start a text that does not follow the last tokens seen but continues ``prefix``."""

    def extend(self, tokens: Sequence[int]) -> None:
        """Take in tokens of the prompt or the reply that follow the last ones seen."""

    def learn_ngrams(self, ngrams: Iterable[tuple[int, ...]], guess_set_size: int) -> None:
        """Take in n-grams of the window, keeping up to ``guess_set_size`` for each first token."""

    def learn_rows(
        self, pairs: Sequence[Pair], successors: Sequence[Sequence[int]], logits: Sequence[Sequence[float]]
    ) -> None:
        """Take in the likeliest successors of each two tokens, the likeliest first, with their logits."""

    def learn_rejected(self, pair: Pair, successors: Sequence[int]) -> None:
        """Take in the likeliest successors of the likeliest candidate that was rejected for the last of two tokens."""

    # Saving.

    def entries(self) -> Any:
        """Return the entries as lists and numbers, to be saved."""
        return ()

    def restore(self, entries: Any, vocabulary: int) -> None:
        """Fill this empty table with what :meth:`entries` gave.

        Raises:
            ValueError, TypeError: it is something else, or holds an id beyond the vocabulary.
        """

    # Proposing.

    def continuations(self, text: Sequence[int], longest: int) -> Iterable[tuple[EvidenceClass, Sequence[int]]]:
        """Whole continuations of a text, for fixed sizes, each of at most ``longest`` tokens."""
        return ()


class PathTable(DraftTable):
    """A table that follows a path of candidates, as an automaton does."""

    @abstractmethod
    def start(self, text: Sequence[int]) -> Any:
        """Return the state after a text; a false value where the table has nothing to propose."""

    @abstractmethod
    def proposals(self, state: Any) -> Iterable[Proposal]:
        """Yield what may follow a state, no token twice."""


class TokenTable(DraftTable):
    """A table that proposes by the last two tokens alone."""

    @abstractmethod
    def after(self, pair: Pair) -> Mapping[int, Evidence]:
        """Return the tokens that may follow two tokens, with their evidence."""

    def after_last(self, pair: Pair) -> Mapping[int, Evidence]:
        """Return :meth:`after` for the last two tokens of the text, for which a longer search may be worth its time."""
        return self.after(pair)

    def weighed(self, found: Mapping[int, Evidence], before: int, pair: Pair) -> Mapping[int, Evidence]:
        """Return what all tables found with further evidence for some of it. Do not modify either.

        Args:
            found: the tokens that may follow a pair.
            before: the token before the pair; ``TEXT_BOUNDARY`` if there is none.
        """
        return found


def check_tokens(value: Any, vocabulary: int, least: int = 0) -> None:
    """Raise ValueError unless a value is a list of token ids.

    Args:
        least: 0, or ``TEXT_BOUNDARY`` where texts may end.
    """
    if not isinstance(value, (list, tuple)) or not {*map(type, value)} <= {int}:
        raise ValueError(f"a list of token ids is {value!r:.80}")
    if value and not least <= min(value) <= max(value) < vocabulary:
        raise ValueError(f"a list holds ids that are not among the model's {vocabulary}")


def merged(found: Mapping[int, Evidence], more: Mapping[int, Evidence]) -> Mapping[int, Evidence]:
    """Return the evidence of both for each token."""
    if not found or not more:
        return found or more
    both = dict(found)
    for token, evidence in more.items():
        both[token] = both[token] + evidence if token in both else evidence
    return both


@dataclass(frozen=True)
class Source:
    """One way to find candidates. Listed in :mod:`decoding.drafting.registry`, it takes part in every step.

    Attributes:
        name: also the value of its ``Origin`` and the key of its colour on the screen.
        table: makes an empty table.
        weights: of its evidence classes, before any candidate was tried: logarithms of odds, which add up.
        row_width: the number of each row's likeliest next tokens that it learns from; 0 for none.
        needs_window: True if it learns from the lookahead branch alone.
    """

    name: str
    table: Callable[[], DraftTable]
    weights: tuple[float, ...]
    row_width: int = 0
    needs_window: bool = False
