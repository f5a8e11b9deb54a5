"""Top-k and argmax of rows of logits, by the kernel in C or by PyTorch.

Vocabularies have up to 256,000 tokens, so only the blocks with the largest maxima are searched.
"""

from __future__ import annotations

from math import inf

import torch
from torch.nn import functional

from decoding.native.kernels import kernels_for
from decoding.native.ranked_rows import ranks_of

_BLOCK = 128
"""Values in one block."""
_DIRECT = 8
"""Minimum ratio of all blocks to searched ones at which the search by blocks is worth its overhead."""


def largest(rows: torch.Tensor, count: int) -> tuple[list[list[float]], list[list[int]]]:
    """Return the ``count`` largest values of each row, in float32 and descending order, and their indices.

    Args:
        rows: shape (rows, vocabulary), or one row, (vocabulary,).
        count: at least 1; no more than the vocabulary are returned.
    """
    if (ranks := ranks_of(rows, count)) is not None:
        return ranks.largest(count)
    count = min(count, rows.shape[-1])
    if (kernels := kernels_for(rows)) is not None:
        return kernels.largest(rows, count)
    values, places = _largest(rows.float().view(-1, rows.shape[-1]), count)
    if rows.device.type == "cpu":
        return values.tolist(), places.tolist()
    # One transfer for both, since each synchronises; a float holds every id exactly.
    both: list[list[float]] = torch.cat((places.float(), values), dim=-1).tolist()
    return [row[count:] for row in both], [[int(place) for place in row[:count]] for row in both]


def _largest(rows: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    if rows.device.type != "cpu" or _DIRECT * count * _BLOCK > rows.shape[-1]:
        values, places = rows.topk(count, dim=-1)
        return values, places
    blocks = in_blocks(rows, _BLOCK)
    # The largest values lie in the blocks with the largest maxima.
    chosen = blocks.amax(-1).topk(count, dim=-1).indices
    found = blocks.gather(1, chosen[..., None].expand(-1, -1, _BLOCK)).flatten(1)
    values, at = found.topk(count, dim=-1)
    return values, chosen.gather(1, at // _BLOCK) * _BLOCK + at % _BLOCK


def argmax(rows: torch.Tensor) -> torch.Tensor:
    """Return the argmax of each row, compared in float32; of equal values, the first. Shape (rows,).

    Args:
        rows: shape (rows, vocabulary).
    """
    if (kernels := kernels_for(rows)) is not None:
        return torch.tensor(kernels.argmax(rows))
    # `generate` compares in float32: a tie there is a tie here.
    rows = rows.float()
    if rows.device.type != "cpu" or rows.shape[-1] < _DIRECT * _BLOCK:
        return rows.argmax(dim=-1)
    blocks = in_blocks(rows, _BLOCK)
    chosen = blocks.amax(-1).argmax(-1)
    return chosen * _BLOCK + blocks[torch.arange(len(rows)), chosen].argmax(-1)


def argmax_of_row(row: torch.Tensor) -> int:
    """Return the argmax of one row, shape (vocabulary,), as a number."""
    if (ranks := ranks_of(row)) is not None:
        place: int = ranks.places[ranks.start]
        return place
    if (kernels := kernels_for(row)) is not None:
        return kernels.argmax_of_row(row)
    return int(argmax(row[None]))


def argmax_of_rows(rows: torch.Tensor) -> list[int]:
    """Return the argmax of each row, shape (rows, vocabulary), as a list."""
    if (ranks := ranks_of(rows)) is not None:
        return ranks.argmax()
    if (kernels := kernels_for(rows)) is not None:
        return kernels.argmax(rows)
    places: list[int] = argmax(rows).tolist()
    return places


def in_blocks(rows: torch.Tensor, size: int) -> torch.Tensor:
    """Reshape rows, shape (n, vocabulary), to (n, blocks, size), padded with -inf."""
    missing = -rows.shape[-1] % size
    return (functional.pad(rows, (0, missing), value=-inf) if missing else rows).view(len(rows), -1, size)
