"""Rotary tables as the C kernels take them: cosines and sines of a text's positions, made as it grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from decoding.native.architectures import ARCHITECTURES

POSITIONS = 1024
"""Tables grow by this many positions, or by half of their size if that is more."""


class RotaryTables(NamedTuple):
    """Cosines and sines of the first ``positions`` positions, each of shape (positions, rotated), for each kind.

    Attributes:
        query_scales: factors of queries, shape (positions,); None for no factors.
    """

    positions: int
    cos: list[torch.Tensor]
    sin: list[torch.Tensor]
    query_scales: torch.Tensor | None


class Rotary:
    """A model's rotary embeddings, and their tables as far as texts have reached."""

    def __init__(
        self, rotary: Callable[..., tuple[torch.Tensor, torch.Tensor]], config: Any, dtype: torch.dtype
    ) -> None:
        """
        Args:
            rotary: transformers' module.
            dtype: of the activations.
        """
        self._module, self._config, self._dtype = rotary, config, dtype
        self._architecture = ARCHITECTURES[config.model_type]
        self._types = sorted(set(config.layer_types)) if self._architecture.rotary_by_type else []
        self._tables: RotaryTables | None = None

    def kind_of(self, layer: int) -> int:
        """Return the index of a layer's tables; -1 if the layer has no positions."""
        if not self._architecture.is_rotated(self._config, layer):
            return -1
        return self._types.index(self._config.layer_types[layer]) if self._types else 0

    def tables_for(self, positions: int) -> RotaryTables:
        """Return tables for these positions and more."""
        # Read once: all sessions of the model share them, on threads of their own.
        tables = self._tables
        if tables is None or positions > tables.positions:
            tables = self._tables = self._make_tables(positions)
        return tables

    def _make_tables(self, positions: int) -> RotaryTables:
        count = positions + max(POSITIONS, positions // 2)
        dummy, places = torch.empty(1, 1, 1, dtype=self._dtype), torch.arange(count)[None]
        kinds = [self._module(dummy, places, kind) for kind in self._types] or [self._module(dummy, places)]
        cos, sin = ([self._table_of(values[0]) for values in kind] for kind in zip(*kinds, strict=True))
        scales = self._architecture.query_scales
        factors = None if scales is None else scales(self._config, places[0]).to(self._dtype).float()
        return RotaryTables(count, cos, sin, factors)

    def _table_of(self, values: torch.Tensor) -> torch.Tensor:
        """Return cosines or sines with those of a pair half a table apart."""
        if self._architecture.adjacent_tables:
            values = torch.cat((values[:, ::2], values[:, 1::2]), dim=-1)
        return values.to(self._dtype).contiguous()
