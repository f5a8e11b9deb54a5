"""Tokens per step, beside how sure the model is of its text: nobody is to mistake an easy text for a fast method."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
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


class _Forgetful(ContextIndex):
    """Context that is never indexed: of the sources that fixed sizes have, that leaves the window's n-grams."""

    def extend(self, tokens: Sequence[int]) -> None:
        pass

    def begin(self, prefix: Sequence[int]) -> None:
        pass


def measure(
    model: Any, prompts: Mapping[str, Sequence[Ids]], ends: Ids, longest: int, most: int
) -> dict[str, dict[str, Any]]:
    """The figures of each row of prompts: its replies, their nats per token, and the tokens per step of every way.

    The first token of a reply comes with the reading of the prompt and counts in no step; a way without steps has None.

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
    rows = track(prompts.items(), "tokens per step")
    return {row: _figures(model, ways, thinned(found, most), ends, longest) for row, found in rows}


def _figures(model: Any, ways: Mapping[str, _Way], prompts: Sequence[Ids], ends: Ids, longest: int) -> dict[str, Any]:
    """The figures of these prompts, each answered in every way from a session of its own."""
    nats, tokens = 0.0, 0
    sizes: dict[str, list[int]] = {name: [] for name in ways}
    for ids in prompts:
        for name, (decoder, tables) in ways.items():
            session = Session(model)
            session.tables = tables()
            steps = list(decoder.generate(ids, max_new_tokens=longest, eos_token_ids=list(ends), session=session))
            sizes[name] += [len(step.tokens) for step in steps if not step.prefill]
        # The text is the same whichever way, but for ties of rounding.
        reply = tuple(token for step in steps for token in step.tokens)
        found = negative_log_likelihood(model, Task(tuple(ids), longest, reply))
        nats, tokens = nats + found[0], tokens + found[1]
    rates = {name: round(fmean(own), 3) if own else None for name, own in sizes.items()}
    return {"replies": len(prompts), "nats per token": round(nats / max(1, tokens), 4), "tokens per step": rates}
