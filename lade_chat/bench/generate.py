"""The decoders of transformers as methods of the benchmark: ``generate`` as it is, greedy whatever a model prefers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig

from lade_chat.bench.decoders import synchronize
from lade_chat.bench.methods import Method, Replier, Setup
from lade_chat.bench.values import Reply


def generate_method(name: str, setup: Setup, **settings: Any) -> Method:
    """``model.generate`` with these settings more, such as ``prompt_lookup_num_tokens``."""

    def reply(ids: Sequence[int], max_new_tokens: int) -> Reply:
        return _timed(setup, ids, max_new_tokens, settings, {})

    def opened() -> Replier:
        return reply

    return Method(name, learns=False, open=opened, may_refuse=True)


def assisted_method(name: str, setup: Setup) -> Method:
    """``model.generate`` with a second, smaller model that drafts."""
    assistant = setup.assistant
    arguments = {"assistant_model": assistant.model}
    if assistant.tokenizer.get_vocab() != setup.tokenizer.get_vocab():
        arguments |= {"tokenizer": setup.tokenizer, "assistant_tokenizer": assistant.tokenizer}

    def reply(ids: Sequence[int], max_new_tokens: int) -> Reply:
        with _preferences(assistant.model, _greedy(setup, max_new_tokens)):
            return _timed(setup, ids, max_new_tokens, {}, arguments)

    def opened() -> Replier:
        return reply

    return Method(name, learns=False, open=opened, may_refuse=True)


def _timed(
    setup: Setup, ids: Sequence[int], max_new_tokens: int, settings: dict[str, Any], arguments: dict[str, Any]
) -> Reply:
    config = _greedy(setup, max_new_tokens, **settings)
    model = setup.model
    with _preferences(model, config):
        started = perf_counter()
        input_ids = torch.tensor([list(ids)], device=model.device)
        output = model.generate(
            input_ids, attention_mask=torch.ones_like(input_ids), generation_config=config, **arguments
        )
        tokens = output[0, len(ids) :].tolist()
        synchronize(model)
        seconds = perf_counter() - started
    return Reply(tuple(tokens), seconds)


def _greedy(setup: Setup, max_new_tokens: int, **settings: Any) -> GenerationConfig:
    """Greedy decoding with a KV cache, and nothing that would change a logit."""
    eos = list(setup.eos_token_ids)
    return GenerationConfig(
        do_sample=False,
        num_beams=1,
        use_cache=True,
        max_new_tokens=max_new_tokens,
        eos_token_id=eos or None,
        pad_token_id=eos[0] if eos else 0,
        **settings,
    )


@contextmanager
def _preferences(model: Any, config: GenerationConfig) -> Iterator[None]:
    """Put a model's own settings aside: generate fills in from them what is not said, as a repetition penalty."""
    own, model.generation_config = model.generation_config, config
    try:
        yield
    finally:
        model.generation_config = own
