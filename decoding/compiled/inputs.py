"""One step's inputs padded to one of a few sizes, and its mask over a KV cache of fixed capacity."""

from __future__ import annotations

import numpy as np
import torch

from decoding.model.inputs import AttentionPattern, StepInputs

SIZES = (1, 4, 8, 16, 32, 64, 128, 256)
"""Numbers of tokens that steps are padded to. Few, since CUDA records a graph for each; a step over 100 tokens costs a
GPU hardly more than one over 10."""


def padded_size(tokens: int) -> int | None:
    """The size that a step over so many tokens is padded to; None where it is too large."""
    return next((size for size in SIZES if size >= tokens), None)


def fewest_padded_to(size: int) -> int:
    """The least number of tokens that is padded to this one of the sizes."""
    return next((smaller + 1 for smaller in reversed(SIZES) if smaller < size), 1)


def padded(inputs: StepInputs, size: int) -> StepInputs:
    """The same step with more rows behind its own, ``size`` in all, that nothing sees.

    Each is the first row once more, the last token of the text: what a model makes of it is as finite as the real
    row, which cannot be said of a token without a text before it.
    """
    total = len(inputs)
    if total == size:
        return inputs
    visible = np.zeros((size, size), dtype=np.bool_)
    visible[:total, :total] = inputs.visible
    visible[total:, 0] = True
    return StepInputs(
        token_ids=[*inputs.token_ids, *[inputs.token_ids[0]] * (size - total)],
        depths=np.concatenate((inputs.depths, np.zeros(size - total, dtype=np.int64))),
        visible=visible,
        read=inputs.read,
    )


def single(token: int) -> StepInputs:
    """A step over one token."""
    return StepInputs([token], np.zeros(1, dtype=np.int64), np.ones((1, 1), dtype=np.bool_), [0])


def write_mask(mask: torch.Tensor, inputs: StepInputs, cached: int, pattern: AttentionPattern) -> None:
    """Write the attention mask of a step whose tokens stand in the slots from ``cached`` on.

    Args:
        mask: written to, shape (1, 1, T, capacity): 0 where a token is seen, the dtype's lowest value elsewhere.
        inputs: the T tokens of the step.
        cached: how many tokens the cache holds; they stand at positions 0 … cached - 1.
        pattern: how far back the layer's attention attention_patterns.
    """
    end, lowest = cached + len(inputs), torch.finfo(mask.dtype).min
    mask.fill_(lowest)
    mask[..., :cached] = 0
    mask[..., cached:end].masked_fill_(torch.from_numpy(inputs.visible).to(mask.device), 0)
    if pattern.is_local:
        positions = cached + inputs.depths
        within = pattern.sees(positions, np.concatenate((np.arange(cached, dtype=np.int64), positions)))
        mask[..., :end].masked_fill_(torch.from_numpy(~within).to(mask.device), lowest)
