"""Conversations as batches: those of about the same length side by side, padded at the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from assets.recipe import corpus
from assets.recipe.tokenizer import EOS_ID, ChatTokenizer

_POOL = 256
_NOT_LEARNT = -100


@dataclass(frozen=True)
class Batch:
    """Conversations to learn from: ids, and labels (-100: not learnt), both (rows, length)."""

    ids: Tensor
    labels: Tensor


class Packer:
    """Takes a pool of conversations at a time and gives it out in batches of about so many ids, in any order.

    A row is one conversation, so attention needs no mask beyond the causal one: what is padded comes last.
    """

    def __init__(self, tokenizer: ChatTokenizer, seed: int, start: int, tokens: int, longest: int) -> None:
        self.next_index = start
        self._tokenizer, self._seed = tokenizer, seed
        self._tokens, self._longest = tokens, longest

    def __iter__(self) -> Iterator[Batch]:
        while True:
            first, self.next_index = self.next_index, self.next_index + _POOL
            rows = [self._row(index) for index in range(first, self.next_index)]
            rows.sort(key=lambda row: len(row[0]))
            groups: list[list[tuple[Tensor, Tensor]]] = [[]]
            for row in rows:
                if groups[-1] and (len(groups[-1]) + 1) * len(row[0]) > self._tokens:
                    groups.append([])
                groups[-1].append(row)
            Random(first).shuffle(groups)
            for group in groups:
                ids, labels = zip(*group, strict=True)
                yield Batch(pad_sequence(list(ids), True, EOS_ID), pad_sequence(list(labels), True, _NOT_LEARNT))

    def _row(self, index: int) -> tuple[Tensor, Tensor]:
        ids, learnt = (side[: self._longest] for side in self._tokenizer.chat(corpus.conversation(self._seed, index)))
        row = torch.tensor(ids)
        return row, row.masked_fill(~torch.tensor(learnt), _NOT_LEARNT)
