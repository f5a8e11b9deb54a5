"""DraftTables: the n-grams, successors and earlier texts of a conversation, from which candidates are drafted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, cast

import msgspec

from decoding.drafting.context_ngrams import ContextIndex
from decoding.drafting.registry import OFFSETS, ORIGINS, SOURCES, WEIGHTS
from decoding.drafting.similar_tokens import SignsOfAll
from decoding.drafting.source import DraftTable, PathTable, TokenTable
from decoding.drafting.successors import Successors, SuccessorTable
from decoding.drafting.window_choice import WindowChoice
from decoding.step import Origin

VERSION = 3
MAX_FILE_BYTES = 100_000_000
MAX_WEIGHT = 50.0
"""Bound of a weight that was saved: beyond it the file is broken."""


class DraftTables:
    """The table of each source of candidates, all bounded; ``tables[Origin.CONTEXT]`` is one of them.

    Attributes:
        vocabulary: the number of ids of the model that they were learnt with; None before the first session.
        evidence_weights: how much each class of evidence counts, the logarithm of a factor on a candidate's odds.
        window_choice: what the lookahead branch has paid.
        context, successors: the tables of texts and of likely next tokens.
        path_tables: those that follow a path of candidates.
        token_tables: those that look at the last two tokens alone.
        row_tables: those that learn from rows of logits.
    """

    def __init__(self, tables: Mapping[Origin, DraftTable] | None = None) -> None:
        """Take these tables, and empty ones for the other origins."""
        self.vocabulary: int | None = None
        self.evidence_weights, self.window_choice = list(WEIGHTS), WindowChoice()
        empty = {origin: source.table() for origin, source in zip(ORIGINS, SOURCES, strict=True)}
        self._take({**empty, **(tables or {})})

    def _take(self, tables: dict[Origin, DraftTable]) -> None:
        """Take these tables, sorted by what they do, so that a step asks only those concerned."""
        self._tables = tables
        self.context = cast(ContextIndex, tables[Origin.CONTEXT])
        self.successors = cast(SuccessorTable, tables[Origin.SUCCESSOR])
        for first, table in zip(OFFSETS, self, strict=True):
            table.first_class = first
        self.path_tables = [table for table in self if isinstance(table, PathTable)]
        self.token_tables = [table for table in self if isinstance(table, TokenTable)]
        self.row_tables = [table for table in self if type(table).learn_rows is not DraftTable.learn_rows]
        self._text_tables = [table for table in self if type(table).extend is not DraftTable.extend]
        self._ngram_tables = [table for table in self if type(table).learn_ngrams is not DraftTable.learn_ngrams]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DraftTables:
        """Return the tables that :meth:`save` wrote, for a session with the same model.

        Raises:
            OSError: the file cannot be read.
            ValueError: it holds something else, or broken tables, or those of another version.
        """
        try:
            if os.path.getsize(path) > MAX_FILE_BYTES:
                raise ValueError("it is too large")
            saved = msgspec.msgpack.decode(Path(path).read_bytes(), type=SavedTables)
            if saved.version != VERSION:
                raise ValueError(f"it is of version {saved.version}, and {VERSION} can be read")
            tables = cls()
            tables.vocabulary = saved.vocabulary
            for origin, table in tables._tables.items():
                table.restore(saved.entries.get(origin, []), saved.vocabulary)
            if not all(-MAX_WEIGHT < weight < MAX_WEIGHT for weight in saved.acceptance):
                raise ValueError("a weight is beyond all bounds")
            if len(saved.acceptance) == len(WEIGHTS):  # else the classes have changed since
                tables.evidence_weights = saved.acceptance
        except (msgspec.MsgspecError, TypeError, ValueError) as error:
            raise ValueError(f"{os.fspath(path)!r} holds no draft tables that can be used: {error}") from error
        return tables

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was learnt to a file, all of it or nothing; a few megabytes at most.

        Texts, successors and the estimates of acceptance are written. The n-grams of the lookahead branch and the size
        of its window are not: they start empty, and take some steps to come back.

        Raises:
            OSError: it cannot be written; the file is as it was.
            ValueError: no session has used the tables.
        """
        if self.vocabulary is None:
            raise ValueError("draft tables without a model cannot be saved: no session has used them")
        entries = {origin.value: table.entries() for origin, table in self._tables.items()}
        saved = msgspec.msgpack.encode(SavedTables(VERSION, self.vocabulary, entries, self.evidence_weights))
        target = Path(path)
        try:
            with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}-", delete=False) as draft:
                try:
                    draft.write(saved)
                    draft.close()
                    os.replace(draft.name, target)
                except BaseException:
                    os.unlink(draft.name)
                    raise
        except OSError as error:
            # The error's own text names the draft file, which the user has never seen.
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error

    def bind(self, vocabulary: int, signs_of_all: SignsOfAll | None = None) -> None:
        """Note the model's number of ids, and how to compare tokens. Raises ValueError if it was another."""
        if self.vocabulary not in (None, vocabulary):
            raise ValueError(f"the draft tables belong to a model of {self.vocabulary} ids, and this has {vocabulary}")
        self.vocabulary = vocabulary
        self.successors.compare_by(signs_of_all)

    def remember(self, texts: Iterable[Sequence[int]], successors: Iterable[Successors] = ()) -> None:
        """Forget all but these texts and successors, the latest last; no text continues another.

        Estimates of acceptance stay.
        """
        fresh = DraftTables()
        fresh.context.fill(texts)
        fresh.successors.fill(successors)
        similar = self.successors.similar
        fresh.successors.compare_by(None if similar is None else similar.signs_of_all)
        self._take(fresh._tables)

    def extend(self, tokens: Sequence[int]) -> None:
        """Take in tokens of the prompt or the reply that follow the last ones seen."""
        for table in self._text_tables:
            table.extend(tokens)

    def learn_ngrams(self, ngrams: Sequence[tuple[int, ...]], guess_set_size: int) -> None:
        """Take in n-grams of the window, keeping up to ``guess_set_size`` for each first token."""
        if ngrams:
            for table in self._ngram_tables:
                table.learn_ngrams(ngrams, guess_set_size)

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
        other = copy(self)
        other._take({origin: table.copy() for origin, table in self._tables.items()})
        other.evidence_weights, other.window_choice = self.evidence_weights.copy(), copy(self.window_choice)
        return other


class SavedTables(msgspec.Struct, forbid_unknown_fields=True, tag="lade draft tables"):
    """Every table's entries by its origin, for one vocabulary, and the weights of evidence."""

    version: int
    vocabulary: int
    entries: dict[str, Any]
    acceptance: list[float]
