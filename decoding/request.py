"""Request: the terms of one generation: how its tokens are chosen, where it ends, and the clock of its steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from transformers.generation.stopping_criteria import StoppingCriteriaList

from decoding.sampling.sampler import GreedySampler, Sampler
from decoding.step import FinishReason
from decoding.step_detail import Observe


class StepClock:
    """The time of the step under way; it stands still while the caller holds the last one.

    What is done after :meth:`lap`, the rest of the bookkeeping, counts in the next step.
    """

    __slots__ = ("_held", "_started")

    def __init__(self) -> None:
        self._started, self._held = perf_counter(), 0.0

    def resume(self) -> None:
        """Go on: the next step was asked for."""
        self._started = perf_counter() - self._held

    def pause(self) -> None:
        """Stand still."""
        self._held = perf_counter() - self._started

    def lap(self) -> float:
        """Return the seconds of the step, and begin the next one."""
        now = perf_counter()
        seconds, self._started = now - self._started, now
        return seconds


@dataclass(slots=True)
class Request:
    """The terms of one generation.

    Attributes:
        max_length: the tokens of the text, prompt included, at which it ends.
        eos_token_ids: ids that end it.
        sampler: chooses each token.
        criteria: asked after every token, as `generate` asks them after each of its steps.
        device: where the criteria expect the text.
        observe: called with the detail of every step that was planned.
        synced: the session has this text already, compared with the model as it is.
        clock: times the steps.
    """

    max_length: int
    eos_token_ids: frozenset[int]
    sampler: Sampler = field(default_factory=GreedySampler)
    criteria: StoppingCriteriaList | None = None
    device: torch.device | None = None
    observe: Observe | None = None
    synced: bool = False
    clock: StepClock = field(default_factory=StepClock)
    _text: torch.Tensor | None = field(default=None, init=False, repr=False)

    def cut(self, ids: Sequence[int], tokens: Sequence[int]) -> tuple[tuple[int, ...], FinishReason | None]:
        """Return the tokens of a step after a text, up to the generation's end, and why it ends there; None if not."""
        reason, room = None, self.max_length - len(ids)
        kept = tuple(tokens[:room])
        if not self.eos_token_ids.isdisjoint(kept):
            ending = next(index for index, token in enumerate(kept) if token in self.eos_token_ids)
            kept, reason = kept[: ending + 1], FinishReason.EOS
        elif len(kept) == room:
            reason = FinishReason.LENGTH
        if self.criteria:
            stopped = self._stopped(ids, kept)
            if stopped is not None and stopped < len(kept) - (reason is FinishReason.EOS):
                kept, reason = kept[: stopped + 1], FinishReason.STOP
        return kept, reason

    def _stopped(self, ids: Sequence[int], tokens: Sequence[int]) -> int | None:
        """The index of the first token after which a criterion says stop."""
        assert self.criteria is not None
        # Only what is new is made a tensor: a whole long text takes as long as a small model's step.
        known = 0 if self._text is None else self._text.shape[1]
        text = torch.tensor([[*ids[known:], *tokens]], device=self.device)
        if self._text is not None:
            text = torch.cat((self._text, text), dim=1)
        self._text = text[:, : len(ids)]
        # In `generate` criteria are given scores; nothing documents which, and none are kept here.
        scores: Any = None
        for index in range(len(tokens)):
            if bool(self.criteria(text[:, : len(ids) + index + 1], scores).all()):
                return index
        return None
