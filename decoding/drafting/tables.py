"""DraftTables: what the sources have learnt of a conversation, from step to step and from turn to turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from decoding.drafting.acceptance import Acceptance
from decoding.drafting.registry import OFFSETS, ORIGINS, SOURCES, Origin
from decoding.drafting.source import DraftTable, EvidenceClass, PathTable, TokenTable
from decoding.planning.window_size import WindowChoice


class Tables:
    """One table for each source of candidates, all bounded; ``tables[Origin.CONTEXT]`` is one of them.

    Attributes:
        acceptance: how often each source was right.
        window_choice: what the lookahead branch has paid.
        path_tables: those that follow a path of candidates, each with the number of its first evidence class.
        token_tables: those that look at the last token alone, likewise.
    """

    def __init__(self, tables: Mapping[Origin, DraftTable] | None = None) -> None:
        """
        Args:
            tables: tables to take in place of empty ones.
        """
        given = tables or {}
        self._tables = {
            origin: given[origin] if origin in given else source.table()
            for origin, source in zip(ORIGINS, SOURCES, strict=True)
        }
        self.acceptance, self.window_choice = Acceptance(), WindowChoice()
        numbered = list(zip(OFFSETS, self._tables.values(), strict=True))
        self.path_tables = [(first, table) for first, table in numbered if isinstance(table, PathTable)]
        self.token_tables = [(first, table) for first, table in numbered if isinstance(table, TokenTable)]

    def __getitem__(self, origin: Origin) -> DraftTable:
        return self._tables[origin]

    def __repr__(self) -> str:
        return f"Tables({', '.join(f'{origin}: {size}' for origin, size in self.sizes().items())})"

    def sizes(self) -> dict[Origin, int]:
        """The number of entries that each source holds."""
        return {origin: len(table) for origin, table in self._tables.items()}

    def begin(self, prefix: Sequence[int]) -> None:
        """Start a text that does not follow the last tokens seen but continues ``prefix``."""
        for table in self._tables.values():
            table.begin(prefix)

    def extend(self, tokens: Sequence[int]) -> None:
        """Take in tokens of the prompt or the reply that follow the last ones seen."""
        for table in self._tables.values():
            table.extend(tokens)

    def learn_ngrams(self, ngrams: Iterable[tuple[int, ...]], guess_set_size: int) -> None:
        """Take in n-grams of the window, keeping up to ``guess_set_size`` for each first token."""
        for table in self._tables.values():
            table.learn_ngrams(ngrams, guess_set_size)

    def learn_rows(
        self, tokens: Sequence[int], successors: Sequence[Sequence[int]], logits: Sequence[Sequence[float]]
    ) -> None:
        """Take in the likeliest successors of each token, the likeliest first, with their logits."""
        for table in self._tables.values():
            table.learn_rows(tokens, successors, logits)

    def learn_logits(self, token: int, logits: torch.Tensor) -> None:
        """Take in the logits after one token, shape (vocabulary,)."""
        for table in self._tables.values():
            table.learn_logits(token, logits)

    def continuations(self, text: Sequence[int], longest: int) -> list[tuple[Origin, EvidenceClass, Sequence[int]]]:
        """Whole continuations of a text from all sources, with the evidence classes of all sources' numbering."""
        return [
            (origin, first + evidence, path)
            for first, (origin, table) in zip(OFFSETS, self._tables.items(), strict=True)
            for evidence, path in table.continuations(text, longest)
        ]

    def copy(self) -> Tables:
        """Return independent tables with the same contents."""
        other = Tables({origin: table.copy() for origin, table in self._tables.items()})
        other.acceptance, other.window_choice = self.acceptance.copy(), self.window_choice.copy()
        return other
