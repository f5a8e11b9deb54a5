"""Weights in 16 bits beside float32 activations: of BF16 and F16 files, and lossless copies of float32 ones."""

from __future__ import annotations

from typing import Any

import psutil
import torch
from torch import nn

from decoding.native.kernels import fits, kernels_for, linear
from decoding.native.weight_memory import rows_of, shape_of

COPY_SHARE = 0.25
"""The fraction of free memory that bfloat16 copies of weights may take."""
SPLIT_ROWS = 4096
"""Rows of a weight converted and compared at a time, to bound the temporary memory."""


class NarrowLinear(nn.Module):
    """A linear layer of a file in 16 bits; it cannot be trained.

    Its activations stay float32, but those of a bfloat16 weight are rounded to bfloat16, as in llama.cpp, on processors
    that multiply pairs of these.
    """

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None = None) -> None:
        """Take a bfloat16 or float16 weight, shape (out, in), contiguous or in tile order, and a bias, shape (out,)."""
        super().__init__()
        self.out_features, self.in_features = shape_of(weight)
        self.bias: torch.Tensor | None
        # Buffers: the dtype of a model's first parameter is taken for that of its activations.
        self.register_buffer("weight", weight)
        self.register_buffer("bias", None if bias is None else bias.detach().float())

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}weight"] = rows_of(destination[f"{prefix}weight"])

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute rows Wᵀ + b, shape (…, out), in the dtype of the rows, shape (…, in)."""
        weight, kernels = self.get_buffer("weight"), kernels_for(rows)
        bias = None if self.bias is None else self.bias.to(rows.dtype)
        if kernels is not None and fits(weight.dtype, rows.dtype) and not rows.requires_grad:
            return kernels.multiply(rows, linear(weight, bias, None, rows.dtype, rounds=True))
        return nn.functional.linear(rows, rows_of(weight).to(rows.dtype), bias)


def fits_bfloat16(model: nn.Module) -> bool:
    """Return True if all float32 weights are exact in bfloat16 and their copies fit in memory."""
    weights = {id(layer.weight): layer.weight.detach() for layer in model.modules() if type(layer) is nn.Linear}
    room = COPY_SHARE * psutil.virtual_memory().available
    if 2 * sum(weight.numel() for weight in weights.values()) > room:
        return False
    return all(is_exact_in_bfloat16(weight) for weight in weights.values())


def is_exact_in_bfloat16(weight: torch.Tensor) -> bool:
    """Return True if nothing is lost by storing a weight in bfloat16, as when it came from such a checkpoint."""
    return all(torch.equal(part, part.bfloat16().to(part.dtype)) for part in weight.split(SPLIT_ROWS))
