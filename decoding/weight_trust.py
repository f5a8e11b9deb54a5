"""Weights that a caller may edit or move: when edits are looked for, how a model moves, how large packed copies are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import nn

from decoding.model.changes import survey
from decoding.runner import runner_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def trust_weights(model: PreTrainedModel) -> None:
    """Promise that a model's weights are edited only in ways that PyTorch counts, or not at all.

    Otherwise they are read at the start of every text, to find edits through ``.data`` and in inference mode, which
    takes as long as a few plain steps.
    """
    runner_of(model).weights_trusted = True


def relocate_weights(model: PreTrainedModel, copies: Mapping[nn.Parameter, torch.Tensor]) -> None:
    """Put copies of a model's weights in their place, as in memory of another kind. Only between steps.

    Sessions go on as they were: nothing is prefilled again.

    Args:
        copies: each with the contents, shape and dtype of its weight, contiguous.

    Raises:
        ValueError: a copy is of another shape or dtype; nothing was moved.
    """
    for weight, copy in copies.items():
        if (copy.shape, copy.dtype, copy.is_contiguous()) != (weight.shape, weight.dtype, True):
            raise ValueError(
                f"a copy of shape {tuple(copy.shape)} does not fit a weight of shape {tuple(weight.shape)}"
            )
    runner = runner_of(model)
    state = runner.refresh()
    for weight, copy in copies.items():
        weight.data = copy
    state.relocate(survey(runner.model))


def packed_weight_bytes(model: PreTrainedModel) -> int:
    """Return the memory taken by copies of a model's weights in bfloat16, made for its steps in C."""
    return runner_of(model).packed_bytes
