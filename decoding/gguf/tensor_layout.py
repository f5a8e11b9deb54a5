"""Layout of tensors: from the order and shape that GGUF files give them to those of transformers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from decoding.gguf.file import GgufTensor
from decoding.gguf.metadata import GgufError, quoted


def shape_in_file(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that a file has for a parameter of this shape: of a convolution, channels and taps alone."""
    return (shape[0], shape[2]) if len(shape) == 3 else tuple(shape)


def pairs_apart(tensor: GgufTensor, parameter: str, config: Any) -> GgufTensor:
    """Return the tensor of a parameter with the rows in transformers' order; blocks stay as they are, rows move whole.

    Where a file has the pairs of a rotation side by side, transformers has them half a head apart.
    """
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(parameter.split(".")[-2])
    if heads is None:
        return tensor
    rows = tensor.blocks.reshape(tensor.shape[0], -1)
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return replace(tensor, blocks=pairs.swapaxes(1, 2).reshape(tensor.blocks.shape))


def grouped(tensor: GgufTensor, parameter: str, config: Any) -> GgufTensor:
    """Return a tensor whose rows are those of a delta rule's value heads in transformers' order; any other unchanged.

    A file has the first heads of all groups first, then the second ones; transformers has the heads of a group, which
    share a key, side by side.
    """
    _, _, name = parameter.partition(".linear_attn.")
    if not name or config.linear_num_value_heads == config.linear_num_key_heads:
        return tensor
    size = 1 if name in ("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias") else config.linear_value_head_dim
    if name in ("norm.weight", "out_proj.weight"):
        return tensor
    keys = config.linear_num_key_heads
    before = 2 * keys * config.linear_key_head_dim if name in ("in_proj_qkv.weight", "conv1d.weight") else 0
    rows = tensor.blocks.reshape(tensor.shape[0], -1).copy()
    heads = rows[before:].reshape(-1, keys, size, rows.shape[1])
    rows[before:] = heads.swapaxes(0, 1).reshape(-1, rows.shape[1])
    return replace(tensor, blocks=rows.reshape(tensor.blocks.shape))


def input_order(parameter: str, config: Any) -> torch.Tensor | None:
    """Return, for a layer that reads a delta rule's value heads in the file's order, the place of each of its inputs.

    Returns:
        Shape (in,), indices of inputs in transformers' order; None for any other layer, and where both are the same.
    """
    if not parameter.endswith(".linear_attn.out_proj.weight"):
        return None
    keys, heads = config.linear_num_key_heads, config.linear_num_value_heads
    if keys == heads:
        return None
    places = torch.arange(heads * config.linear_value_head_dim, device="cpu")
    return places.view(keys, heads // keys, -1).transpose(0, 1).reshape(-1)


def log_of_negative(values: torch.Tensor, name: str) -> torch.Tensor:
    """Return the logarithms of what a file has the negatives of."""
    if bool((values >= 0).any()):
        raise GgufError(f"tensor {quoted(name)} does not hold numbers below zero")
    return (-values).log()
