"""DraftTables: what the sources have learnt of a conversation, from step to step and from turn to turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from decoding.drafting.acceptance import Acceptance
from decoding.drafting.registry import OFFSETS, ORIGINS, SOURCES, Origin
from decoding.drafting.source import DraftTable, PathTable, TokenTable
from decoding.planning.window_size import WindowChoice


class DraftTables:
    """The table of each source of candidates, all bounded; ``tables[Origin.CONTEXT]`` is one of them.

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

    def __iter__(self) -> Iterator[DraftTable]:
        return iter(self._tables.values())

    def __repr__(self) -> str:
        return f"DraftTables({', '.join(f'{origin}: {size}' for origin, size in self.sizes().items())})"

    def sizes(self) -> dict[Origin, int]:
        """The number of entries that each source holds."""
        return {origin: len(table) for origin, table in self._tables.items()}

    def copy(self) -> DraftTables:
        """Return independent tables with the same contents."""
        other = DraftTables({origin: table.copy() for origin, table in self._tables.items()})
        other.acceptance, other.window_choice = self.acceptance.copy(), self.window_choice.copy()
        return other
