"""Tokens per step, beside how sure the model is of its text: nobody is to mistake an easy text for a fast method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.progress import track

from assets.recipe.conversation import thinned
from decoding import DraftTables, LookaheadConfig, LookaheadDecoder, Origin, Session, StepCost, lookahead_support
from decoding.config import Sizes
from decoding.drafting.context import ContextIndex
from lade_chat.bench.prepare import negative_log_likelihood
from lade_chat.bench.results.values import Task

# What a step over so many tokens costs in plain steps. Given, not measured, so that the figures are the same anywhere.
CPU = {1: 1.0, 2: 1.5, 4: 1.5, 8: 1.47, 16: 1.65, 32: 2.1, 64: 2.9}
GPU = {1: 1.0, 64: 1.05, 128: 1.15}
WAYS = AUTO_CPU, AUTO_GPU, WINDOW = "auto, CPU", "auto, GPU", "window alone"
SIZES = Sizes(window_size=7, ngram_size=5, guess_set_size=7)

Ids = Sequence[int]
_Way = tuple[LookaheadDecoder, Callable[[], DraftTables]]


@dataclass
class Pace:
    """Totals of some replies: their tokens, the model's nats for them, and steps and tokens of steps by way.

    The first token of a reply comes with the reading of the prompt and counts in no step.
    """

    replies: int = 0
    tokens: int = 0
    nats: float = 0.0
    steps: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))
    stepped: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WAYS, 0))

    def told(self) -> dict[str, Any]:
        """The figures as the evaluation keeps them; None where there was no step."""
        rates = {way: round(self.stepped[way] / steps, 3) if steps else None for way, steps in self.steps.items()}
        sure = round(self.nats / max(1, self.tokens), 4)
        return {"replies": self.replies, "nats per token": sure, "tokens per step": rates}


class _Forgetful(ContextIndex):
    """Context that is never indexed: of the sources that fixed sizes have, that leaves the window's n-grams."""

    def extend(self, tokens: Sequence[int]) -> None:
        pass

    def begin(self, prefix: Sequence[int]) -> None:
        pass


def measure(model: Any, prompts: Mapping[str, Sequence[Ids]], ends: Ids, longest: int, most: int) -> dict[str, Pace]:
    """The pace of each row of prompts.

    Args:
        model: the model.
        prompts: the ids of prompts by the row that they count in.
        ends: the ids that end a reply.
        longest: the most tokens of a reply.
        most: how many prompts of a row are answered at most, spread evenly over them.

    Raises:
        RuntimeError: lookahead does not serve the model, so that there is nothing to measure.
    """
    support = lookahead_support(model)
    if not support.supported:
        raise RuntimeError(f"no tokens per step: {support.reason}")
    ways: dict[str, _Way] = {
        AUTO_CPU: (LookaheadDecoder(model, cost=StepCost(CPU, live=False)), DraftTables),
        AUTO_GPU: (LookaheadDecoder(model, cost=StepCost(GPU, live=False)), DraftTables),
        WINDOW: (
            LookaheadDecoder(model, LookaheadConfig(*SIZES)), lambda: DraftTables({Origin.CONTEXT: _Forgetful()})
        ),
    }  # fmt: skip
    chosen = [(row, ids) for row, found in prompts.items() for ids in thinned(found, most)]
    paces: dict[str, Pace] = {}
    for row, ids in track(chosen, "tokens per step"):
        _add(paces.setdefault(row, Pace()), model, ways, ids, ends, longest)
    return paces


def _add(pace: Pace, model: Any, ways: Mapping[str, _Way], ids: Ids, ends: Ids, longest: int) -> None:
    """One prompt more, answered in every way from a session of its own."""
    for name, (decoder, tables) in ways.items():
        session = Session(model)
        session.tables = tables()
        steps = list(decoder.generate(ids, max_new_tokens=longest, eos_token_ids=list(ends), session=session))
        own = [len(step.tokens) for step in steps if not step.prefill]
        pace.steps[name] += len(own)
        pace.stepped[name] += sum(own)
    # The text is the same whichever way, but for ties of rounding.
    reply = tuple(token for step in steps for token in step.tokens)
    nats, tokens = negative_log_likelihood(model, Task(tuple(ids), longest, reply))
    pace.replies, pace.tokens, pace.nats = pace.replies + 1, pace.tokens + tokens, pace.nats + nats
