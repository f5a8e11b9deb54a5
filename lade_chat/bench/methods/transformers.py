"""transformers' ``generate`` as methods of the benchmark; the model's own generation config is ignored."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig

from lade_chat.bench.methods.all_methods import Method, Replier, Setup
from lade_chat.bench.methods.decoders import synchronize
from lade_chat.bench.results.values import TimedReply, seed_of_draws
from lade_chat.engine.comparison.transformers_decoder import generation_config, override_generation_config


def generate(setup: Setup, *, name: str, **settings: Any) -> list[Method]:
    """``model.generate`` with further settings, such as ``prompt_lookup_num_tokens``."""

    def opened(seed: int | None) -> Replier:
        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            return _timed(setup, seed, ids, max_new_tokens, settings, {})

        return reply

    return [Method(name, learns=False, open=opened, may_refuse=True, own_draws=True)]


def assisted(setup: Setup, *, name: str) -> list[Method]:
    """``model.generate`` with a smaller draft model."""
    assistant = setup.assistant
    arguments = {"assistant_model": assistant.model}
    if assistant.tokenizer.get_vocab() != setup.tokenizer.get_vocab():
        arguments |= {"tokenizer": setup.tokenizer, "assistant_tokenizer": assistant.tokenizer}

    def opened(seed: int | None) -> Replier:
        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            with override_generation_config(assistant.model, _config(setup, max_new_tokens)):
                return _timed(setup, seed, ids, max_new_tokens, {}, arguments)

        return reply

    return [Method(name, learns=False, open=opened, may_refuse=True, own_draws=True)]


def _timed(
    setup: Setup,
    seed: int | None,
    ids: Sequence[int],
    max_new_tokens: int,
    settings: dict[str, Any],
    arguments: dict[str, Any],
) -> TimedReply:
    config = _config(setup, max_new_tokens, **settings)
    model = setup.model
    draws = seed_of_draws(seed, ids)
    if draws is not None:
        torch.manual_seed(draws)
    with override_generation_config(model, config):
        started = perf_counter()
        input_ids = torch.tensor([list(ids)], device=model.device)
        output = model.generate(
            input_ids,
            attention_mask=torch.ones_like(input_ids),
            generation_config=config,
            # All of them, warpers included: the same processors as in this package's decoders.
            logits_processor=None if setup.sampling is None else setup.sampling.processors(),
            **arguments,
        )
        tokens = output[0, len(ids) :].tolist()
        synchronize(model)
        seconds = perf_counter() - started
    return TimedReply(tuple(tokens), seconds)


def _config(setup: Setup, max_new_tokens: int, **settings: Any) -> GenerationConfig:
    draws = setup.sampling is not None and not setup.sampling.is_greedy
    return generation_config(setup.eos_token_ids, max_new_tokens, do_sample=draws, **settings)
