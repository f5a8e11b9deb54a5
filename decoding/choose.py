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
    # In float32, as `generate` compares.
    logits = logits.float()
    values, tokens = logits.topk(min(width, logits.shape[-1]), dim=-1)
    likeliest, scores = _to_host(tokens, values)
    chosen = [row[0] for row in likeliest]
    for row, score in enumerate(scores):
        if len(score) == 1 or score[0] == score[1]:
            # Among equals `topk` may put any first, and the choice is the lowest id.
            chosen[row] = int(logits[row].argmax())
    return Choices(chosen, likeliest, scores)


def _to_host(tokens: torch.Tensor, values: torch.Tensor) -> tuple[list[list[int]], list[list[float]]]:
    if tokens.device.type == "cpu":
        return tokens.tolist(), values.tolist()
    # One transfer for both, since each waits for the device; a float holds every id exactly.
    rows: list[list[float]] = torch.cat((tokens.float(), values), dim=-1).tolist()
    width = tokens.shape[-1]
    return [[int(token) for token in row[:width]] for row in rows], [row[width:] for row in rows]
