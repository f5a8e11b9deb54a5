"""CONFIG_MAP and LookaheadDecoding: the configuration, the log and a decoder, under the original's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from transformers import PreTrainedModel

from decoding.arguments import InputIds, as_ids
from decoding.config import LookaheadConfig
from decoding.lookahead import LookaheadDecoder
from decoding.model.capabilities import vocabulary_size
from decoding.model.prefix import input_device

CONFIG_MAP: dict[str, Any] = {}
"""The arguments of `config_lade`, by name, and the ``log``: [tokens, steps, ratio] for each `generate`.

It is read at every `generate`, so that a value written here takes effect at once.
"""
_SIZES = {"WINDOW_SIZE": "window_size", "LEVEL": "ngram_size", "GUESS_SET_SIZE": "guess_set_size"}


def lookahead_config(settings: Mapping[str, Any] = CONFIG_MAP) -> LookaheadConfig:
    """Return the sizes set; automatic ones if none is. Raises ValueError for a size out of range."""
    sizes = {name: settings[key] for key, name in _SIZES.items() if settings.get(key) is not None}
    return LookaheadConfig(**sizes) if sizes else LookaheadConfig.auto()


class LookaheadDecoding:
    """Lookahead decoding with W, N and G as in the paper, by a ``decoder`` of these sizes; nothing is patched."""

    def __init__(self, model: PreTrainedModel, W: int = 15, N: int = 5, G: int = 5) -> None:  # noqa: N803
        """Take any causal language model of transformers; window size, n-gram size and guess set size."""
        self.decoder = LookaheadDecoder(model, LookaheadConfig(W, N, G))

    def generate(self, input_ids: InputIds, max_new_tokens: int = 256) -> torch.LongTensor:
        """Return a text, shape (n,) or (1, n), and its likeliest continuation up to an EOS, shape (1, n + new)."""
        model = self.decoder.model
        prompt = as_ids(input_ids, vocabulary_size(model))
        device = input_ids.device if isinstance(input_ids, torch.Tensor) else input_device(model)
        steps = self.decoder.generate(prompt, max_new_tokens=max_new_tokens)
        new = [token for step in steps for token in step.tokens]
        ids = torch.tensor([[*prompt, *new]], device=device)
        return cast(torch.LongTensor, ids)
