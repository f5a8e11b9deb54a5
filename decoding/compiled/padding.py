"""The inputs of a step padded to one of a few sizes, and its mask over a KV cache of fixed capacity."""

from __future__ import annotations

import numpy as np
import torch

from decoding.model.inputs import AttentionPattern, StepInputs

SIZES = (1, 4, 8, 16, 32, 64, 128, 256)
"""Token counts that steps are padded to. Few, since CUDA records a graph for each; 100 tokens cost a GPU hardly more
than 10."""


def padded_size(tokens: int) -> int | None:
    """Return the size that a step over so many tokens is padded to; None if it is too large."""
    return next((size for size in SIZES if size >= tokens), None)


def fewest_padded_to(size: int) -> int:
    """Return the least number of tokens that is padded to this size."""
    return next((smaller + 1 for smaller in reversed(SIZES) if smaller < size), 1)


def padded(inputs: StepInputs, size: int) -> StepInputs:
    """Return the same step with hidden rows after its own, ``size`` in all.

    Each repeats the first row, the last token of the text, so that its states are as finite as the real one's.
    """
    total = len(inputs)
    if total == size:
        return inputs
    visible = np.zeros((size, size), dtype=np.bool_)
    visible[:total, :total] = inputs.visible
    visible[total:, 0] = True
    return StepInputs(
        token_ids=[*inputs.token_ids, *[inputs.token_ids[0]] * (size - total)],
        depths=[*inputs.depths, *[0] * (size - total)],
        mask=visible.tobytes(),
        logit_rows=inputs.logit_rows,
    )


def single(token: int) -> StepInputs:
    """Return a step over one token."""
    return StepInputs([token], [0], b"\x01", [0])


def write_mask(mask: torch.Tensor, inputs: StepInputs, cached: int, pattern: AttentionPattern) -> None:
    """Write the attention mask of a step whose tokens are in the slots from ``cached`` on.

    Args:
        mask: written to, shape (1, 1, T, capacity): 0 where a token is visible, the dtype's lowest value elsewhere.
        inputs: the T tokens of the step.
        cached: the number of tokens in the cache, at positions 0 … cached - 1.
        pattern: the layer's attention pattern.
    """
    end, lowest = cached + len(inputs), torch.finfo(mask.dtype).min
    mask.fill_(lowest)
    mask[..., :cached] = 0
    mask[..., cached:end].masked_fill_(torch.from_numpy(inputs.visible).to(mask.device), 0)
    if pattern.is_local:
        positions = cached + np.asarray(inputs.depths)
        within = pattern.sees(positions, np.concatenate((np.arange(cached, dtype=np.int64), positions)))
        mask[..., :end].masked_fill_(torch.from_numpy(~within).to(mask.device), lowest)
