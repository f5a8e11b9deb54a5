"""Request: the terms of one generation: how its tokens are chosen, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import StoppingCriteriaList

from decoding.sampling.sampler import GreedySampler, Sampler
from decoding.step import FinishReason
from decoding.step_detail import Observe


@dataclass(frozen=True)
class Request:
    """The terms of one generation.

    Attributes:
        max_length: the tokens of the text, prompt included, at which it ends.
        eos_token_ids: ids that end it.
        chooser: chooses each token.
        criteria: asked after every token, as `generate` asks them after each of its steps.
        device: where the criteria expect the text.
        observe: called with the detail of every step that a plan has made.
    """

    max_length: int
    eos_token_ids: frozenset[int]
    sampler: Sampler = field(default_factory=GreedySampler)
    criteria: StoppingCriteriaList | None = None
    device: torch.device | None = None
    observe: Observe | None = None

    def cut(self, ids: Sequence[int], tokens: Sequence[int]) -> tuple[tuple[int, ...], FinishReason | None]:
        """Return the tokens up to the generation's end, and why it ends there; None if it does not.

        Args:
            ids: the text before them.
            tokens: the tokens of a step, at least one.
        """
        reason = None
        kept = tuple(tokens[: self.max_length - len(ids)])
        ending = next((index for index, token in enumerate(kept) if token in self.eos_token_ids), None)
        if ending is not None:
            kept, reason = kept[: ending + 1], FinishReason.EOS
        elif len(ids) + len(kept) == self.max_length:
            reason = FinishReason.LENGTH
        stopped = self._stopped(ids, kept)
        if stopped is not None and stopped < len(kept) - (reason is FinishReason.EOS):
            kept, reason = kept[: stopped + 1], FinishReason.STOP
        return kept, reason

    def _stopped(self, ids: Sequence[int], tokens: Sequence[int]) -> int | None:
        """The index of the first token after which a criterion says stop."""
        if not self.criteria:
            return None
        text = torch.tensor([[*ids, *tokens]], device=self.device)
        # In `generate` criteria are given scores; nothing documents which, and none are kept here.
        scores: Any = None
        for index in range(len(tokens)):
            if bool(self.criteria(text[:, : len(ids) + index + 1], scores).all()):
                return index
        return None
