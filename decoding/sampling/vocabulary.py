"""Work over a whole vocabulary in one pass: the largest logits of a row, and a token drawn from it.

A vocabulary has up to 256,000 tokens, and the few that matter are found by the maxima of its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import torch
from torch.nn import functional
from transformers.generation.logits_process import (
    LogitsProcessor,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from decoding.native.kernels import DTYPES, NativeKernels, native_kernels
from decoding.sampling.gumbel import BLOCK, gumbel, gumbel_bounds

FIRST_BLOCKS = 24
"""Blocks whose noise is computed at first; as many times more whenever these do not settle the draw."""
FIRST_NUCLEUS = 64
"""Likeliest tokens among which a top-p nucleus is looked for at first."""
_DIRECT = 8
"""Where fewer than so many blocks would be left out for each one read, all are read."""


def largest(rows: torch.Tensor, count: int) -> tuple[list[list[float]], list[list[int]]]:
    """Return the largest values of each row, in float32, the largest first, and their places.

    Args:
        rows: shape (rows, vocabulary).
        count: at least 1; at most the vocabulary.
    """
    if (kernels := _kernels_for(rows)) is not None:
        return kernels.largest(rows, count)
    values, places = _largest(rows.float(), count)
    if rows.device.type == "cpu":
        return values.tolist(), places.tolist()
    # One transfer for both, since each synchronises; a float holds every id exactly.
    both: list[list[float]] = torch.cat((places.float(), values), dim=-1).tolist()
    return [row[count:] for row in both], [[int(place) for place in row[:count]] for row in both]


def _largest(rows: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    if rows.device.type != "cpu" or _DIRECT * count * BLOCK > rows.shape[-1]:
        values, places = rows.topk(count, dim=-1)
        return values, places
    blocks = _in_blocks(rows)
    # The largest values lie in the blocks with the largest maxima.
    chosen = blocks.amax(-1).topk(count, dim=-1).indices
    found = blocks.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1)
    values, at = found.topk(count, dim=-1)
    return values, chosen.gather(1, at // BLOCK) * BLOCK + at % BLOCK


def argmax(rows: torch.Tensor) -> torch.Tensor:
    """Return the place of the largest value of each row, the first of several, as seen in float32. Shape (rows,).

    Args:
        rows: shape (rows, vocabulary).
    """
    if (kernels := _kernels_for(rows)) is not None:
        return torch.tensor([row[0] for row in kernels.largest(rows, 1)[1]])
    # `generate` compares in float32: a tie there is a tie here.
    rows = rows.float()
    if rows.device.type != "cpu" or rows.shape[-1] < _DIRECT * BLOCK:
        return rows.argmax(dim=-1)
    blocks = _in_blocks(rows)
    chosen = blocks.amax(-1).argmax(-1)
    return chosen * BLOCK + blocks[torch.arange(len(rows)), chosen].argmax(-1)


def most_likely(row: torch.Tensor) -> int:
    """Return the place of the largest value of one row, shape (vocabulary,), as :func:`argmax`."""
    rows = row[None]
    if (kernels := _kernels_for(rows)) is not None:
        return kernels.largest(rows, 1)[1][0][0]
    return int(argmax(rows))


def _kernels_for(rows: torch.Tensor) -> NativeKernels | None:
    """Return the kernels in C if they take these rows."""
    known = rows.device.type == "cpu" and rows.dtype in DTYPES and rows.is_contiguous()
    return native_kernels() if known else None


def _in_blocks(rows: torch.Tensor) -> torch.Tensor:
    """Return rows, shape (n, vocabulary), as shape (n, blocks, :data:`BLOCK`), filled up with -inf."""
    missing = -rows.shape[-1] % BLOCK
    return (functional.pad(rows, (0, missing), value=-inf) if missing else rows).view(len(rows), -1, BLOCK)


class _Row:
    """A row of scores over a temperature, in blocks."""

    def __init__(self, scores: torch.Tensor, temperature: float) -> None:
        self.size, self._temperature = len(scores), temperature
        self._blocks = _in_blocks(scores[None])[0]
        # Division keeps the order, so that only what is read needs it.
        self.maxima = self._blocks.amax(-1) / temperature

    def tokens_of(self, blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the token ids of some blocks and their scores, each of shape (n,)."""
        tokens = (blocks[:, None] * BLOCK + torch.arange(BLOCK)).flatten()
        return tokens, self._blocks[blocks].flatten() / self._temperature

    def largest(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return at least ``count`` of the likeliest tokens, all of equal score among them; see :meth:`at_least`."""
        count = min(count, self.size)
        _, values = self.tokens_of(self.maxima.topk(min(count, len(self.maxima))).indices)
        return self.at_least(values.topk(count).values[-1])

    def at_least(self, score: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens of at least this score, the likeliest first, equal ones by id, and their scores."""
        tokens, values = self.tokens_of((self.maxima >= score).nonzero()[:, 0])
        kept = ((values >= score) & (tokens < self.size)).nonzero()[:, 0]
        values, order = values[kept].sort(descending=True, stable=True)
        return tokens[kept[order]], values

    def logsumexp(self) -> torch.Tensor:
        return (self._blocks / self._temperature).logsumexp((0, 1))


@dataclass(frozen=True, slots=True)
class Truncation:
    """A temperature and the truncations behind it, in the order of `generate`, each with its meaning there.

    Tokens of equal score at the end of a top-p nucleus are taken by id.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @classmethod
    def ending(cls, processors: Sequence[LogitsProcessor]) -> tuple[int, Truncation]:
        """Return the truncation with which a list of processors ends, and the number of processors before it."""
        kinds = (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, MinPLogitsWarper)
        names, found = ("temperature", "top_k", "top_p", "min_p"), dict[str, float]()
        left, upto = len(processors), len(kinds)
        while left:
            last = processors[left - 1]
            kind = next((at for at, each in enumerate(kinds[:upto]) if type(last) is each), None)
            usual = getattr(last, "filter_value", -inf) == -inf and getattr(last, "min_tokens_to_keep", 1) == 1
            if kind is None or not usual:
                break
            found[names[kind]], upto, left = getattr(last, names[kind]), kind, left - 1
        return left, cls(**found)  # type: ignore[arg-type]  # top_k is whole

    def draw(self, scores: torch.Tensor, position: int, seed: int) -> int:
        """Draw a token from the softmax of one row of scores, shape (vocabulary,), on the CPU."""
        at, row = torch.tensor(position), _Row(scores, self.temperature)
        if not (self.top_k or self.top_p < 1 or self.min_p):
            return _draw_from_all(row, at, seed)
        kept, values = self._kept(row)
        return int(kept[(values.double() + gumbel(seed, at, kept)).argmax()])

    def _kept(self, row: _Row) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens that are left to draw from, the likeliest first, and their scores."""
        if self.top_k:
            kept, values = row.largest(self.top_k)
            total = values.logsumexp(0)
        elif self.top_p < 1:
            total, count = row.logsumexp(), FIRST_NUCLEUS
            kept, values = row.largest(count)
            while len(kept) < row.size and (values - total).exp().sum() < self.top_p:
                count *= 8
                kept, values = row.largest(count)
        else:
            kept, values = row.at_least(row.maxima.max() + log(self.min_p))
        if self.top_p < 1:
            shares = (values - total).exp()
            count = int((shares.cumsum(0) - shares < self.top_p).sum())
            kept, values = kept[:count], values[:count]
        if self.min_p:
            count = int((values >= values[0] + log(self.min_p)).sum())
            kept, values = kept[:count], values[:count]
        return kept, values


NO_TRUNCATION = Truncation()


def _draw_from_all(row: _Row, position: torch.Tensor, seed: int) -> int:
    """Draw from a whole row, computing noise only in blocks that may hold the largest sum of score and noise."""
    bounds = row.maxima.double() + gumbel_bounds(seed, position, len(row.maxima))
    count = min(FIRST_BLOCKS, len(bounds))
    while True:
        bound, chosen = bounds.topk(min(count + 1, len(bounds)))
        tokens, values = row.tokens_of(chosen[:count].sort().values)
        noisy = values.double() + gumbel(seed, position, tokens)
        best = noisy.argmax()
        if count == len(bounds) or noisy[best] > bound[-1]:
            return min(int(tokens[best]), row.size - 1)
        count = min(8 * count, len(bounds))
