"""A token drawn from a row of scores over a whole vocabulary, in one pass.

A vocabulary has up to 256,000 tokens, and the few that matter are found by the maxima of its blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np
import torch
from transformers.generation.logits_process import (
    LogitsProcessor,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from decoding.native.kernels import kernels_for
from decoding.native.top_k import in_blocks
from decoding.sampling.seeded_gumbel import BLOCK, gumbel, gumbel_bounds

FIRST_BLOCKS = 16
"""Blocks whose noise is computed at first; then that of all blocks that these do not rule out."""
_BINS, _DEEPEST = 1 << 12, 32.0
"""Intervals of scores in which a larger nucleus is searched, from the largest score down to so much less."""
_ROUNDING = 1e-9
_LEAST = torch.tensor(torch.finfo(torch.float32).min)
"""Tokens of a score below this, such as -inf, are not drawn."""
_MAX_TOP_K = 256
"""The largest top-k for which the kernel in C sorts by insertion."""


class _Scores:
    """A row of scores over a temperature, in blocks."""

    def __init__(self, scores: torch.Tensor, temperature: float) -> None:
        self.size, self._temperature = len(scores), temperature
        self._blocks = in_blocks(scores[None], BLOCK)[0]
        # Division keeps the order, so that only what is read needs it.
        self.maxima = self._blocks.amax(-1) / temperature
        self.largest = self.maxima.max()

    def tokens_of(self, blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the token ids of some blocks and their scores, each of shape (n,)."""
        tokens = (blocks[:, None] * BLOCK + torch.arange(BLOCK)).flatten()
        return tokens, self._blocks[blocks].flatten() / self._temperature

    def likeliest(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return at least ``count`` of the likeliest tokens, all of equal score among them, and their scores.

        The likeliest come first, and equal ones by id.
        """
        count = min(count, self.size)
        _, values = self.tokens_of(self.maxima.topk(min(count, len(self.maxima))).indices)
        least = values.topk(count).values[-1]
        tokens, values = self.tokens_of((self.maxima >= least).nonzero()[:, 0])
        kept = ((values >= least) & (tokens < self.size)).nonzero()[:, 0]
        values, order = values[kept].sort(descending=True, stable=True)
        return tokens[kept[order]], values

    def nucleus(self, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the score and the id of the last of the likeliest tokens that make up a probability."""
        live = (self.maxima > self.largest - _DEEPEST).nonzero()[:, 0]
        scores = self._blocks[live].flatten()
        depths = (scores - self.largest * self._temperature).mul_(1 / self._temperature).clamp_(min=-_DEEPEST)
        weights = depths.exp()
        wanted = top_p * float(weights.sum())
        # The sum over each interval of scores tells in which the last one lies: that one alone is sorted.
        bins = depths.mul_(-_BINS / _DEEPEST).int()
        sums = torch.bincount(bins, weights).cumsum(0, dtype=torch.double)
        interval = min(int((sums < wanted).sum()), len(sums) - 1)
        at = torch.from_numpy(np.flatnonzero(bins.numpy() == interval))  # faster than torch's
        values, order = (scores[at] / self._temperature).sort(descending=True, stable=True)
        at = at[order]
        shares = weights[at].double()
        above = sums[interval] - shares.sum() + shares.cumsum(0) - shares
        last = max(int((above < wanted).sum()) - 1, 0)
        return values[last], live[at[last] // BLOCK] * BLOCK + at[last] % BLOCK

    def draw(self, position: torch.Tensor, seed: int, least: torch.Tensor, last: torch.Tensor | int) -> int:
        """Draw a token scoring at least ``least``; on ties, ids up to ``last``."""

        def noisiest(blocks: torch.Tensor) -> tuple[float, int]:
            tokens, values = self.tokens_of(blocks)
            kept = ((values > least) | (values == least) & (tokens <= last)).nonzero()[:, 0]
            if not len(kept):
                return -inf, 0
            noise, at = (values[kept].double() + gumbel(seed, position, tokens[kept])).max(0)
            return float(noise), int(tokens[kept[at]])

        blocks = (self.maxima >= least).nonzero()[:, 0]
        if len(blocks) > FIRST_BLOCKS:
            # Only blocks whose bound is above what some have reached may hold the largest sum of score and noise.
            bounds = self.maxima[blocks].double() + gumbel_bounds(seed, position, blocks)
            highest = bounds.topk(FIRST_BLOCKS + 1)
            reached, token = noisiest(blocks[highest.indices[:-1].sort().values])
            if highest.values[-1] < reached - _ROUNDING:
                return token
            blocks = blocks[bounds >= reached - _ROUNDING]
        return noisiest(blocks)[1]


@dataclass(frozen=True, slots=True)
class Warpers:
    """Temperature, top-k, top-p and min-p, in the order of `generate`, each with its meaning there.

    Tokens of equal score at the end of a top-p nucleus are taken by id.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    @classmethod
    def ending(cls, processors: Sequence[LogitsProcessor]) -> tuple[int, Warpers]:
        """Return the warpers with which a list of processors ends, and the number of processors before it."""
        kinds = (TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper, MinPLogitsWarper)
        names, found = ("temperature", "top_k", "top_p", "min_p"), dict[str, float]()
        left, upto = len(processors), len(kinds)
        while left:
            last = processors[left - 1]
            kind = next((at for at, each in enumerate(kinds[:upto]) if type(last) is each), None)
            usual = getattr(last, "filter_value", -inf) == -inf and getattr(last, "min_tokens_to_keep", 1) == 1
            # With a top-p of 0, transformers keeps the likeliest token, and nothing here would be left to draw.
            if kind is None or not usual or getattr(last, "top_p", 1) == 0:
                break
            found[names[kind]], upto, left = getattr(last, names[kind]), kind, left - 1
        return left, cls(**found)  # type: ignore[arg-type]  # top_k is whole

    def draw(self, scores: torch.Tensor, position: int, seed: int) -> int:
        """Draw a token from the softmax of one row of scores, shape (vocabulary,), on the CPU."""
        if self.top_k <= _MAX_TOP_K and (kernels := kernels_for(scores)) is not None:
            log_min_p = log(self.min_p) if self.min_p else -inf
            return kernels.draw(scores, (seed, position), self.temperature, self.top_k, self.top_p, log_min_p)
        row, at = _Scores(scores.float(), self.temperature), torch.tensor(position)
        if not row.largest > -inf:  # no number, or no token that may be said
            return int(scores.argmax())
        if self.top_k:
            tokens, values = self._likeliest(row)
            return int(tokens[(values.double() + gumbel(seed, at, tokens)).argmax()])
        least, last = row.nucleus(self.top_p) if self.top_p < 1 else (_LEAST, row.size)
        if self.min_p and (cut := row.largest + log(self.min_p)) > least:
            least, last = cut, row.size
        return row.draw(at, seed, least, last)

    def _likeliest(self, row: _Scores) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tokens that are left of the top k, the likeliest first, and their scores."""
        tokens, values = row.likeliest(self.top_k)
        shares = values.double().softmax(0)
        kept = shares.cumsum(0) - shares < self.top_p if self.top_p < 1 else values >= values[-1]
        if self.min_p:
            kept &= values >= values[0] + log(self.min_p)
        return tokens[kept], values[kept]


NO_WARPERS = Warpers()
