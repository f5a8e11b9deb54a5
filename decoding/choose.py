"""The token chosen from each row of logits. This is the whole of verification."""

from __future__ import annotations

from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Choices:
    """What the model chose at each row, and what else was likely there.

    Attributes:
        tokens: the token chosen at each row.
        likeliest: row by row, the likeliest tokens, the likeliest first; empty where none were asked for.
        logits: theirs.
    """

    tokens: list[int]
    likeliest: list[list[int]]
    logits: list[list[float]]


def choices(logits: torch.Tensor, width: int) -> Choices:
    """The most likely token of each row as :func:`greedy` chooses it, and a few more, with one synchronisation.

    Args:
        logits: shape (rows, vocabulary).
        width: how many of the likeliest tokens are wanted; 0 for none.
    """
    if width == 0:
        return Choices(greedy(logits), [], [])
    # In float32, as `generate` compares; a float holds every id exactly.
    logits = logits.float()
    values, tokens = logits.topk(min(width, logits.shape[-1]), dim=-1)
    # The choice is asked for apart: among equals `topk` may put any first.
    chosen = logits.argmax(dim=-1, keepdim=True)
    rows: list[list[float]] = torch.cat((chosen.float(), tokens.float(), values), dim=-1).tolist()
    count = 1 + tokens.shape[-1]
    return Choices(
        tokens=[int(row[0]) for row in rows],
        likeliest=[[int(token) for token in row[1:count]] for row in rows],
        logits=[row[count:] for row in rows],
    )
