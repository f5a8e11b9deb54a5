"""Linear layers of a few rows, in forward passes of PyTorch.

A step over several tokens multiplies a few rows by every weight, but BLAS libraries are optimised for many rows or for
one: two rows can take three times as long as one. The kernels of :mod:`decoding.native` read each weight once, in
place; without a C compiler, x Wᵀ in float32 is computed as (W xᵀ)ᵀ.

In float32 a single row is left to PyTorch, so that plain decoding equals `generate` bit for bit.
"""

from __future__ import annotations

from sys import maxsize

import torch
from torch import nn
from torch.nn import functional

from decoding.model.private_interfaces import global_hooks
from decoding.native.kernels import DTYPES, native_kernels

FEW_ROWS = {torch.float32: range(2, 33), torch.bfloat16: range(1, maxsize)}
"""Numbers of rows that are not left to PyTorch. Measured on two cores with AVX2, 768 × 3072: the kernels take 0.36 of
its time for 3 rows in float32, 0.8 for 32 and 1.17 for 64; in bfloat16 0.88 for one and 0.26 from 16 on."""
_PLAIN = (nn.Parameter, torch.Tensor)
_linear_forward = nn.Linear.forward


def linear(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Compute rows Wᵀ + b.

    Args:
        rows: shape (1, T, in); any other is left to PyTorch.
        weight: shape (out, in).
        bias: shape (out,).

    Returns:
        Shape (1, T, out), contiguous.
    """
    shape, dtype = rows.shape, weight.dtype
    is_served = len(shape) == 3 and shape[0] == 1 and shape[1] in FEW_ROWS.get(dtype, ()) and rows.dtype is dtype
    if not is_served or type(weight) not in _PLAIN or weight.device.type != "cpu" or not weight.is_contiguous():
        return functional.linear(rows, weight, bias)
    kernels = native_kernels() if dtype in DTYPES else None
    if kernels is not None:
        return kernels.product(rows, weight, bias)
    return functional.linear(rows, weight, bias) if dtype is torch.bfloat16 else _transposed(rows, weight, bias)


def _transposed(rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    columns = rows[0].t()
    product = torch.mm(weight, columns) if bias is None else torch.addmm(bias[:, None], weight, columns)
    # Contiguous like PyTorch's: the model's next operation would be slow otherwise.
    return product.t().contiguous()[None]


def is_changed_globally() -> bool:
    """Return True if a patch, autocast or a global hook is in force that other kernels would bypass."""
    return nn.Linear.forward is not _linear_forward or torch.is_autocast_enabled("cpu") or bool(global_hooks())
