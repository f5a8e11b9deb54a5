"""Samplers: choose a token from each row of logits, the likeliest or one drawn.

A candidate is accepted if it is the token chosen there: see ``branches/verification.py``. Where the model computes
nothing but NaN, token 0 is chosen by every way to choose; so a choice is checked for NaN only where it is token 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from transformers.generation import logits_process
from transformers.generation.logits_process import LogitsProcessor, LogitsProcessorList

from decoding.branches.candidate_tree import ROOT, CandidateTree
from decoding.branches.verification import accepted_path
from decoding.native.ranked_rows import row_of
from decoding.native.top_k import argmax, argmax_of_row, argmax_of_rows, largest
from decoding.sampling.draw import NO_WARPERS, Warpers
from decoding.sampling.seeded_gumbel import gumbel

_TEXT_FREE = (
    logits_process.TemperatureLogitsWarper,
    logits_process.TopKLogitsWarper,
    logits_process.TopPLogitsWarper,
    logits_process.TopHLogitsWarper,
    logits_process.MinPLogitsWarper,
    logits_process.TypicalLogitsWarper,
    logits_process.EpsilonLogitsWarper,
    logits_process.EtaLogitsWarper,
    logits_process.SuppressTokensLogitsProcessor,
    logits_process.InfNanRemoveLogitsProcessor,
    logits_process.LogitNormalization,
)
"""Processors that ignore the text."""
_BATCHED = (
    *_TEXT_FREE,
    logits_process.MinLengthLogitsProcessor,
    logits_process.MinNewTokensLengthLogitsProcessor,
    logits_process.RepetitionPenaltyLogitsProcessor,
    logits_process.NoRepeatNGramLogitsProcessor,
    logits_process.SequenceBiasLogitsProcessor,
    logits_process.NoBadWordsLogitsProcessor,
    logits_process.ForcedBOSTokenLogitsProcessor,
    logits_process.ForcedEOSTokenLogitsProcessor,
    logits_process.ExponentialDecayLengthPenalty,
    logits_process.SuppressTokensAtBeginLogitsProcessor,
)
"""Processors without a state, which treat all rows of a batch alike."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The tokens that the model chose at each row of a step, and the likeliest ones there.

    Attributes:
        tokens: the token chosen at each row; argmax for rows off the accepted path.
        likeliest: row by row, the likeliest tokens, the likeliest first; empty where none were asked for.
        logits: their logits.
    """

    tokens: list[int]
    likeliest: list[list[int]]
    logits: list[list[float]]


class Sampler(Protocol):
    """Chooses tokens, each from the model's own distribution at its place and from nothing else.

    Each method raises FloatingPointError where that distribution is NaN.
    """

    def sample(self, logits: torch.Tensor, ids: Sequence[int]) -> int:
        """Return the token after a text, from its logits, shape (vocabulary,)."""

    def sample_tree(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree, width: int) -> Choices:
        """Return the tokens at all rows of a step, and so many of the likeliest ones at each.

        The logits are of shape (rows, vocabulary): the last token's row, the candidates', then any of the window.
        """

    def sample_rows(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree) -> list[int]:
        """Return the tokens at the last token's row and all candidates', accepted or not, each under its own text.

        The logits are of shape (1 + candidates, vocabulary).
        """


class GreedySampler:
    """The likeliest token; the lowest id where several are equally likely."""

    def sample(self, logits: torch.Tensor, ids: Sequence[int]) -> int:
        return argmax_of_row(logits) or _token_0(logits)

    def sample_tree(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree, width: int) -> Choices:
        found = likeliest(logits, width)
        _check_path(found.tokens, logits, candidates)
        return found

    def sample_rows(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree) -> list[int]:
        tokens = argmax_of_rows(logits)
        _check_path(tokens, logits, candidates)
        return tokens


class ProcessorSampler:
    """The likeliest token after logits processors or, with a seed, a token drawn from what they leave.

    Each row is processed under its own text, as in `generate`. Processors not known to be stateless are called once for
    every token of the text, in order, and for nothing else; but where a stopping criterion ends a text, also for what
    was accepted behind that in the same step.
    """

    def __init__(
        self, processors: Sequence[LogitsProcessor], seed: int | None, eos_token_ids: frozenset[int] = frozenset()
    ) -> None:
        """Without a seed the likeliest token is chosen. Nothing is processed behind an id that ends a text."""
        self._processors, self._seed = LogitsProcessorList(processors), seed
        self._ends = eos_token_ids
        self._replaces_nan = any(isinstance(each, logits_process.InfNanRemoveLogitsProcessor) for each in processors)
        # On a CPU the last of them are not run over the whole vocabulary.
        first, self._warpers = Warpers.ending(processors)
        self._first = LogitsProcessorList(processors[:first])
        self._text_free = all(type(processor) in _TEXT_FREE for processor in processors)
        self._batched = all(
            type(processor) in _BATCHED
            # It was made for a batch of this many rows.
            and not isinstance(getattr(processor, "prompt_ignore_length", None), torch.Tensor)
            for processor in processors
        )

    def sample(self, logits: torch.Tensor, ids: Sequence[int]) -> int:
        if self._seed is not None and logits.is_cpu and not self._first:
            return self._warpers.draw(logits, len(ids), self._seed) or _token_0(logits)
        text = [0] if self._text_free else ids
        return int(self._pick(logits[None], [text], [len(ids)])) or self._token_0(logits)

    def sample_tree(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree, width: int) -> Choices:
        found = likeliest(logits, width)
        # All rows together take one synchronisation of an accelerator; row by row only those accepted are processed.
        if self._batched and not logits.is_cpu:
            rows = 1 + len(candidates)
            found.tokens[:rows] = self._all(logits[:rows], ids, candidates)
            return found
        row: int | None = ROOT
        text = list(ids)
        while row is not None:
            found.tokens[row] = self.sample(row_of(logits, row), text)
            text.append(found.tokens[row])
            row = None if text[-1] in self._ends else candidates.child(row, text[-1])
        return found

    def sample_rows(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree) -> list[int]:
        if self._batched:
            return self._all(logits, ids, candidates)
        return self.sample_tree(logits, ids, candidates, 0).tokens

    def _all(self, logits: torch.Tensor, ids: Sequence[int], candidates: CandidateTree) -> list[int]:
        if self._text_free:
            chosen = self._pick(logits, [[0]], [len(ids) + depth for depth in (0, *candidates.depths)])
        else:
            chosen = torch.empty(len(logits), dtype=torch.long, device=logits.device)
            for rows, texts in self._groups(ids, candidates):
                at = torch.tensor(rows, device=logits.device)
                chosen[at] = self._pick(logits[at], texts, [len(text) for text in texts])
        tokens: list[int] = chosen.tolist()
        if not self._replaces_nan:
            _check_path(tokens, logits, candidates)
        return tokens

    def _token_0(self, logits: torch.Tensor) -> int:
        return 0 if self._replaces_nan else _token_0(logits)

    def _groups(self, ids: Sequence[int], candidates: CandidateTree) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield rows that can be processed together, with their texts."""
        texts = [list(ids)]
        for node, token in enumerate(candidates.tokens, start=1):
            texts.append([*texts[candidates.parent(node)], token])
        by_length: dict[int, list[int]] = {}
        for row, text in enumerate(texts):
            by_length.setdefault(len(text), []).append(row)
        for rows in by_length.values():
            yield rows, [texts[row] for row in rows]

    @torch.no_grad()
    def _pick(self, logits: torch.Tensor, texts: Sequence[Sequence[int]], positions: Sequence[int]) -> torch.Tensor:
        drawn_here = self._seed is not None and logits.device.type == "cpu"
        processors = self._first if drawn_here else self._processors
        # In float32, as in `generate`; a copy, since processors may write into their input.
        scores = logits.to(torch.float32, copy=bool(processors))
        if processors:
            seen = torch.tensor([list(text) for text in texts], device=logits.device)
            scores = processors(cast(torch.LongTensor, seen), cast(torch.FloatTensor, scores))
        if self._seed is None:
            return argmax(scores)
        return draw_tokens(scores, positions, self._seed, self._warpers if drawn_here else NO_WARPERS)


def draw_tokens(
    scores: torch.Tensor, positions: Sequence[int], seed: int, warpers: Warpers = NO_WARPERS
) -> torch.Tensor:
    """Draw a token from the softmax of each row of scores, at its place in its text; warpers are for a CPU alone."""
    if scores.device.type == "cpu":
        rows = zip(scores, positions, strict=True)
        return torch.tensor([warpers.draw(row, position, seed) for row, position in rows])
    at = torch.tensor(positions, device=scores.device)
    noise = gumbel(seed, at[:, None], torch.arange(scores.shape[-1], device=scores.device))
    return (scores.to(noise.dtype) + noise).argmax(dim=-1)


def likeliest(logits: torch.Tensor, width: int) -> Choices:
    """Return the likeliest token of each row of logits, and so many of the next ones, with one synchronisation."""
    if width == 0:
        return Choices(argmax_of_rows(logits), [], [])
    scores, found = largest(logits, width)
    chosen = [row[0] for row in found]
    for row, score in enumerate(scores):
        if len(score) == 1 or not score[0] > score[1]:
            # `topk` may put any of several equals, or of several NaN, first; greedy decoding takes the lowest id.
            chosen[row] = argmax_of_row(row_of(logits, row))
    return Choices(chosen, found, scores)


def _check_path(tokens: Sequence[int], logits: torch.Tensor, candidates: CandidateTree) -> None:
    """Raise FloatingPointError if a token of the accepted path was chosen among NaN."""
    if 0 in tokens:
        for row in (ROOT, *accepted_path(candidates, tokens)):
            if not tokens[row]:
                _token_0(row_of(logits, row))


def _token_0(logits: torch.Tensor) -> int:
    """Return 0, the token chosen from a row of logits. Raises FloatingPointError if it was chosen among NaN."""
    if logits[0].isnan():
        raise FloatingPointError(
            "the model computes NaN: its weights are broken, or numbers grow too large for its dtype; try a wider one"
        )
    return 0
