"""FileExperts: the MLPs of a mixture of experts, with their weights as a GGUF file has them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from decoding.native.kernels import DTYPES, fits, linear
from decoding.native.packed_weight import PackedWeight
from decoding.native.structures import Linear
from decoding.quantization.packed import Fixed


@dataclass(frozen=True)
class ExpertWeights:
    """A linear layer of each expert, in one weight.

    Attributes:
        weight: packed or not, shape (outputs of all experts, in).
        outputs: of one expert.
        first: the first output of the first expert.
        apart: the outputs between the first of one expert and the first of the next.
    """

    weight: PackedWeight | torch.Tensor
    outputs: int
    first: int
    apart: int

    @property
    def inputs(self) -> int:
        return self.weight.shape[1]

    def structure(self, expert: int, dtype: torch.dtype) -> Linear:
        """Return the addresses of an expert's weight, for activations of a dtype."""
        if isinstance(self.weight, PackedWeight):
            return self.weight.structure(outputs=self._outputs(expert))
        return linear(self.weight[slice(*self._outputs(expert))], None, None, dtype)

    def product(self, rows: torch.Tensor, expert: int) -> torch.Tensor:
        """Return rows Wᵀ, shape (rows, outputs), by an expert's weight."""
        if isinstance(self.weight, PackedWeight):
            return self.weight.product(rows, outputs=self._outputs(expert))
        return nn.functional.linear(rows, self.weight[slice(*self._outputs(expert))].to(rows.dtype))

    def _outputs(self, expert: int) -> tuple[int, int]:
        first = self.first + expert * self.apart
        return first, first + self.outputs


class FileExperts(Fixed):
    """Gated MLPs in the place of transformers' module of all experts."""

    def __init__(
        self, count: int, gate: ExpertWeights, up: ExpertWeights, down: ExpertWeights, activation: nn.Module
    ) -> None:
        """Take the layers of so many experts."""
        super().__init__()
        self.count, self.gate, self.up, self.down, self.act_fn = count, gate, up, down, activation

    def extra_repr(self) -> str:
        return f"{self.count} × {self.gate.inputs} × {self.gate.outputs}"

    def fits(self, dtype: torch.dtype) -> bool:
        """Return True if the kernels multiply activations of a dtype by these weights."""
        weights = (part.weight for part in (self.gate, self.up, self.down))
        return all(isinstance(weight, PackedWeight) or fits(weight.dtype, dtype) for weight in weights)

    def structures(self, dtype: torch.dtype) -> list[Linear]:
        """Return gate, up and down of each expert, for activations of a dtype."""
        parts = self.gate, self.up, self.down
        return [part.structure(expert, dtype) for expert in range(self.count) for part in parts]

    def forward(self, rows: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Return the weighted sums of the chosen experts' outputs for rows, both of shape (rows, width).

        Indices of experts and the weights of their outputs have shape (rows, chosen).
        """
        known = rows.detach() if rows.dtype in DTYPES else rows.detach().float()
        mixed = torch.zeros_like(known)
        for expert in chosen.unique().tolist():
            token, place = torch.where(chosen == expert)
            own = known[token]
            inner = self.act_fn(self.gate.product(own, expert)) * self.up.product(own, expert)
            mixed.index_add_(0, token, self.down.product(inner, expert) * weights[token, place, None].to(known.dtype))
        return mixed.to(rows.dtype)
