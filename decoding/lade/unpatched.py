"""LookaheadDecoding: the original implementation's sizes on one model, without patching anything."""

from __future__ import annotations

from typing import cast

import torch
from transformers import PreTrainedModel

from decoding.arguments import InputIds, as_ids
from decoding.config import LookaheadConfig
from decoding.lookahead import LookaheadDecoder
from decoding.model.capabilities import vocabulary_size
from decoding.model.prefix import input_device


class LookaheadDecoding:
    """Lookahead decoding with W, N and G as in the paper, without patching anything."""

    def __init__(self, model: PreTrainedModel, W: int = 15, N: int = 5, G: int = 5) -> None:  # noqa: N803
        """
        Args:
            model: any causal language model of transformers.
            W, N, G: window size, n-gram size and guess set size.
        """
        self._decoder = LookaheadDecoder(model, LookaheadConfig(W, N, G))

    def generate(self, input_ids: InputIds, max_new_tokens: int = 256) -> torch.LongTensor:
        """Return the likeliest continuation, up to one of the model's end-of-sequence ids.

        Args:
            input_ids: one text, shape (n,) or (1, n).

        Returns:
            The ids, prompt included. Shape (1, n + new).
        """
        model = self._decoder.model
        prompt = as_ids(input_ids, vocabulary_size(model))
        device = input_ids.device if isinstance(input_ids, torch.Tensor) else input_device(model)
        steps = self._decoder.generate(prompt, max_new_tokens=max_new_tokens)
        new = [token for step in steps for token in step.tokens]
        ids = torch.tensor([[*prompt, *new]], device=device)
        return cast(torch.LongTensor, ids)
