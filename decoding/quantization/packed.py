"""PackedLinear and PackedEmbedding: modules whose weights stay as a GGUF file has them, multiplied in C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Self

import torch
from torch import nn

from decoding.native.kernels import DTYPES
from decoding.native.packed_weight import PackedWeight

FINE = ("k_proj", "v_proj")
"""Layers whose inputs are rounded to 16 bits: rounding them to 8 changes a text most, and these layers are small."""
_NOT_SAVED = "a model with quantised weights is not saved: keep the file or folder that it came from"


class Fixed(nn.Module):
    """A module whose weights stay as they are, on the CPU. It cannot be trained or saved, and copies share them."""

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Keep dtypes as they are. Raises NotImplementedError for another device."""
        check_stays_on_cpu(fn)
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        other.__dict__ = {**self.__dict__, "_buffers": dict(self._buffers)}
        return other

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotImplementedError(_NOT_SAVED)

    def _save_to_state_dict(self, *args: object) -> NoReturn:
        raise NotImplementedError(_NOT_SAVED)


def check_stays_on_cpu(fn: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Raise NotImplementedError if a module is moved to another device."""
    if fn(torch.empty(0)).device.type != "cpu":
        raise NotImplementedError("a model with quantised or packed weights stays on the CPU")


class Packed(Fixed):
    """A module with a packed weight."""

    def __init__(self, weight: PackedWeight) -> None:
        super().__init__()
        self.packed = weight


class PackedLinear(Packed):
    """A linear layer with a packed weight, shape (out, in)."""

    def __init__(
        self, weight: PackedWeight, bias: torch.Tensor | None = None, order: torch.Tensor | None = None
    ) -> None:
        """Take a bias, shape (out,), and the input of each column, shape (in,), where they are in another order."""
        super().__init__(weight)
        self.order = order
        self.out_features, self.in_features = weight.shape
        self.bias: torch.Tensor | None
        self.register_buffer("bias", None if bias is None else bias.detach().float())

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}, {self.packed.packing.name}"

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Compute rows Wᵀ + b, shape (…, out), in the dtype of the rows, shape (…, in)."""
        known = rows.detach() if rows.dtype in DTYPES else rows.detach().float()
        if self.order is not None:
            known = known[..., self.order]
        bias = None if self.bias is None else self.bias.to(known.dtype)
        return self.packed.product(known, bias).to(rows.dtype)


class PackedEmbedding(Packed):
    """An embedding with a packed weight, shape (vocabulary, width); rows are unpacked as they are looked up."""

    def __init__(self, weight: PackedWeight, embed_scale: float = 1.0) -> None:
        """Take what multiplies the rows."""
        super().__init__(weight)
        self.num_embeddings, self.embedding_dim = weight.shape
        self.dtype, self.embed_scale = torch.float32, embed_scale

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Self:
        """Follow the model's dtype in what it returns. Raises NotImplementedError for another device."""
        self.dtype = fn(torch.empty(0, dtype=self.dtype)).dtype
        return super()._apply(fn, recurse)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, {self.packed.packing.name}"

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the embeddings of token ids, shape (…, width)."""
        rows = self.packed.rows(ids.flatten().tolist()).view(*ids.shape, self.embedding_dim)
        return (rows * self.embed_scale).to(self.dtype)
