"""Request: what is asked of a generation: how its tokens are chosen, and where it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import StoppingCriteriaList

from decoding.sampling.sampler import Chooser, Greedy
from decoding.step import FinishReason
from decoding.step_detail import Observe


@dataclass
class Request:
    """How the tokens of one generation are chosen, and where it ends.

    Attributes:
        remaining: how many tokens may still be emitted.
        eos_token_ids: ids that end it.
        chooser: chooses each token.
        criteria: asked after every token, as `generate` asks them after each of its steps.
        device: where the criteria expect the text.
        observe: told of every step that a plan has made; None where nobody looks.
    """

    remaining: int
    eos_token_ids: frozenset[int]
    chooser: Chooser = field(default_factory=Greedy)
    criteria: StoppingCriteriaList | None = None
    device: torch.device | None = None
    observe: Observe | None = None

    def cut(self, ids: Sequence[int], tokens: Sequence[int]) -> tuple[tuple[int, ...], FinishReason | None]:
        """The tokens up to the generation's end, and why it ends there; None if it does not.

        Args:
            ids: the text before them.
            tokens: what a step settled, at least one token.
        """
        reason = None
        kept = tuple(tokens[: self.remaining])
        ending = next((index for index, token in enumerate(kept) if token in self.eos_token_ids), None)
        if ending is not None:
            kept, reason = kept[: ending + 1], FinishReason.EOS
        elif len(kept) == self.remaining:
            reason = FinishReason.LENGTH
        stopped = self._stopped(ids, kept)
        if stopped is not None and stopped < len(kept) - (reason is FinishReason.EOS):
            kept, reason = kept[: stopped + 1], FinishReason.STOP
        self.remaining -= len(kept)
        return kept, reason

    def _stopped(self, ids: Sequence[int], tokens: Sequence[int]) -> int | None:
        """The index of the first token after which a criterion says stop."""
        if not self.criteria:
            return None
        text = torch.tensor([[*ids, *tokens]], device=self.device)
        # Criteria may look at scores in `generate`; what they would be is nowhere said, and nobody keeps them.
        scores: Any = None
        for index in range(len(tokens)):
            if bool(self.criteria(text[:, : len(ids) + index + 1], scores).all()):
                return index
        return None
