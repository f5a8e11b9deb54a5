"""The token chosen from each row of logits. This is the whole of verification."""

from __future__ import annotations

import torch


def greedy(logits: torch.Tensor) -> list[int]:
    """The most likely token of each row, with one synchronisation for them all.

    Args:
        logits: shape (rows, vocabulary).

    Returns:
        One token id per row; the lowest id where several are equally likely.
    """
    if logits.dtype == torch.float64:
        # `generate` compares in float32; doing so too keeps a tie there a tie here.
        logits = logits.float()
    chosen: list[int] = logits.argmax(dim=-1).tolist()
    return chosen
