"""Quality of a quantised model: its replies and perplexity, compared with the unquantised model's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from time import perf_counter
from typing import NamedTuple

import torch

from decoding import AutoregressiveDecoder, Session
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.values import Message
from lade_chat.suites.prompts import bundled_suites

MAX_NEW_TOKENS, MAX_SECONDS = 24, 20
"""Tokens of one reply; seconds for all replies of one model."""


class QualityText(NamedTuple):
    """A prompt, and a model's greedy reply to it."""

    prompt: tuple[int, ...]
    reply: tuple[int, ...]


class Quality(NamedTuple):
    """The number of differing replies among ``texts``, and both perplexities over the unquantised model's texts."""

    texts: int
    differing: int
    perplexity: float
    unquantised_perplexity: float


def replies(loaded: LoadedModel, prompts: Sequence[tuple[int, ...]] | None = None) -> Iterator[QualityText]:
    """Yield replies to two prompts of each bundled suite, or to those given, as long as there is time."""
    begun = perf_counter()
    for prompt in _prompts(loaded) if prompts is None else prompts:
        steps = AutoregressiveDecoder(loaded.model).generate(
            prompt, max_new_tokens=MAX_NEW_TOKENS, eos_token_ids=loaded.eos_token_ids, session=Session(loaded.model)
        )
        yield QualityText(prompt, tuple(token for step in steps for token in step.tokens))
        if prompts is None and perf_counter() - begun > MAX_SECONDS:
            return


@torch.inference_mode()
def perplexity(loaded: LoadedModel, texts: Sequence[QualityText]) -> float:
    """Return the perplexity of a model over whole texts."""
    loss, count = 0.0, 0
    for text in texts:
        ids = torch.tensor([text.prompt + text.reply], device=loaded.model.device)
        scores = loaded.model(input_ids=ids).logits[0, :-1].float().log_softmax(-1)
        loss -= float(scores.gather(1, ids[0, 1:, None]).sum())
        count += ids.shape[1] - 1
    return exp(loss / max(count, 1))


def quality(loaded: LoadedModel, texts: Sequence[QualityText], unquantised_perplexity: float) -> Quality:
    """Compare a quantised model with the texts and the perplexity of the unquantised one."""
    own = replies(loaded, [text.prompt for text in texts])
    differing = sum(reply != text for reply, text in zip(own, texts, strict=True))
    return Quality(len(texts), differing, perplexity(loaded, texts), unquantised_perplexity)


def _prompts(loaded: LoadedModel) -> Iterator[tuple[int, ...]]:
    suites = bundled_suites()
    for place in range(2):
        for suite in suites:
            yield prompt_for(loaded, (Message("user", suite.questions[place].turns[0]),), MAX_NEW_TOKENS).ids
