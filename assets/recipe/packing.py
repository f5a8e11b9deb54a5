"""Packing conversations into rows of fixed length, each seeing only itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from assets.recipe import corpus
from assets.recipe.tokenizer import EOS_ID, ChatTokenizer


@dataclass
class Row:
    """A row being filled: ids, what is learnt, and the number of the conversation each id belongs to."""

    ids: list[int] = field(default_factory=list)
    learnt: list[bool] = field(default_factory=list)
    owner: list[int] = field(default_factory=list)

    def add(self, ids: list[int], learnt: list[bool], owner: int) -> None:
        """Append a conversation."""
        self.ids += ids
        self.learnt += learnt
        self.owner += [owner] * len(ids)

    def pad(self, length: int) -> Row:
        """The row filled up to its length with ids that nobody learns."""
        missing = length - len(self.ids)
        self.add([EOS_ID] * missing, [False] * missing, -1)
        return self


@dataclass(frozen=True)
class Batch:
    """Rows to learn from.

    Ids, positions and labels (-100: not learnt) are (rows, length), the mask is (rows, 1, length, length).
    """

    ids: Tensor
    positions: Tensor
    mask: Tensor
    labels: Tensor


class Packer:
    """Takes conversations one after the other and gives batches: of short rows, or of long when enough wait.

    A conversation that fits a short row goes to the open row with the least room left that still takes it.
    """

    def __init__(self, tokenizer: ChatTokenizer, seed: int, start: int, tokens: int, short: int, long: int) -> None:
        self.next_index = start
        self._tokenizer, self._seed = tokenizer, seed
        self._tokens, self._short, self._long = tokens, short, long
        self._open: list[Row] = []
        self._full: list[Row] = []
        self._long_rows: list[Row] = []

    def __iter__(self) -> Iterator[Batch]:
        while True:
            self._take()
            if len(self._long_rows) * self._long >= self._tokens:
                yield self._batch(self._long_rows, self._long)
            if len(self._full) * self._short >= self._tokens:
                yield self._batch(self._full, self._short)

    def _take(self) -> None:
        index = self.next_index
        self.next_index += 1
        ids, learnt = self._tokenizer.chat(corpus.conversation(self._seed, index))
        if len(ids) > self._short:
            self._add_long(ids[: self._long], learnt[: self._long], index)
            return
        room = [row for row in self._open if len(row.ids) + len(ids) <= self._short]
        row = max(room, key=lambda row: len(row.ids)) if room else Row()
        if not room:
            self._open.append(row)
        row.add(ids, learnt, index)
        if len(self._open) > 40:
            fullest = max(self._open, key=lambda row: len(row.ids))
            self._open.remove(fullest)
            self._full.append(fullest)

    def _add_long(self, ids: list[int], learnt: list[bool], index: int) -> None:
        for row in self._long_rows:
            if len(row.ids) + len(ids) <= self._long:
                row.add(ids, learnt, index)
                return
        row = Row()
        row.add(ids, learnt, index)
        self._long_rows.append(row)

    def _batch(self, rows: list[Row], length: int) -> Batch:
        count = self._tokens // length
        taken, rows[:] = [row.pad(length) for row in rows[:count]], rows[count:]
        ids = torch.tensor([row.ids for row in taken])
        owner = torch.tensor([row.owner for row in taken])
        learnt = torch.tensor([row.learnt for row in taken])
        same = owner[:, :, None] == owner[:, None, :]
        mask = (same & torch.ones(length, length, dtype=torch.bool).tril())[:, None]
        labels = ids.masked_fill(~learnt, -100)
        return Batch(ids, _positions(owner), mask, labels)


def _positions(owner: Tensor) -> Tensor:
    """Positions that start again at 0 with every conversation."""
    places = torch.arange(owner.shape[1]).expand_as(owner)
    starts = torch.ones_like(owner, dtype=torch.bool)
    starts[:, 1:] = owner[:, 1:] != owner[:, :-1]
    return places - torch.where(starts, places, 0).cummax(dim=1).values
