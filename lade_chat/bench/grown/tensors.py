"""Tensors of a larger model that computes the same logits as a small one.

The smaller model's weights stand in a corner of the larger one's. Spare dimensions of the residual stream stay zero,
which RMSNorm's weight and epsilon make up for; spare heads, MLP units and layers are multiplied by zero. A rotary pair
keeps its frequency in a wider head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from lade_chat.bench.grown.shapes import Shape, has_bias, shape_of

_BLOCK, _SPREAD = 1 << 20, 0.02
"""Random numbers drawn for spare weights, which repeat them, and their standard deviation."""
_CONSTANT = 2.0**-16
"""The constant in the spare dimension relative to an embedding's norm: too small to change any norm in float32."""
_LIVE_LOGIT, _DEAD_LOGIT = 1e-6, -1000.0
"""Contribution of the spare dimension to the logits of tokens that the source has, and of the others, about."""
_MAX_WEIGHT = 3e4
"""Limit on weights' magnitude, so that a grown model can be loaded in float16."""
_PROBE_TOKENS = 64


@dataclass(frozen=True)
class _Heads:
    """Places of a model's attention heads in a larger model's projections, as indices of rows.

    Attributes:
        queries: for each row of the source's query projection.
        occupied: all rows of the query heads in use.
        keys: for rows of keys and values; a source head stands in several places if a larger one serves fewer queries.
        copied: the source's row for each of ``keys``.
    """

    queries: list[int]
    occupied: list[int]
    keys: list[int]
    copied: list[int]

    @classmethod
    def of(cls, source: Shape, shape: Shape) -> _Heads:
        """Map a source's heads to a larger shape.

        Rotary pair i of a head goes to pair i · (ratio of the head widths), which has the same frequency.
        """
        width, old = shape.head_dim, source.head_dim
        pairs = [pair * (width // old) for pair in range(old // 2)]
        dims = [*pairs, *(width // 2 + pair for pair in pairs)]
        group, larger = source.heads // source.kv_heads, shape.heads // shape.kv_heads
        copies = math.ceil(group / larger)
        heads = [
            (head // group * copies + head % group // larger) * larger + head % group % larger
            for head in range(source.heads)
        ]
        kv_heads = range(source.kv_heads * copies)
        return cls(
            [head * width + dim for head in heads for dim in dims],
            [head * width + dim for head in heads for dim in range(width)],
            [head * width + dim for head in kv_heads for dim in dims],
            [head // copies * old + dim for head in kv_heads for dim in range(old)],
        )


class Grower:
    """Computes the larger model's tensors from the source's."""

    def __init__(self, model: Any, shape: Shape) -> None:
        self._model, self._shape, self._source = model, shape, shape_of(model.config)
        self._weights: dict[str, torch.Tensor] = model.state_dict()
        self._heads = _Heads.of(self._source, shape)
        self._block = torch.randn(_BLOCK, generator=torch.Generator().manual_seed(0)).mul_(_SPREAD)
        self._norm = math.sqrt(self._source.hidden / shape.hidden)

    def shards(self) -> Iterator[dict[str, torch.Tensor]]:
        """Yield embedding and head, then layer after layer, in float32 and by their names in transformers."""
        yield self._ends()
        for layer in range(self._shape.layers):
            prefix = f"model.layers.{layer}."
            yield dict((*self._inputs(prefix), *self._outputs(prefix)))

    def _ends(self) -> dict[str, torch.Tensor]:
        """Return embedding and head, with a small constant in one spare dimension.

        By it the head lowers the logits of tokens that the source does not have.
        """
        known, spare = self._source.vocabulary, self._source.hidden
        names = ["model.embed_tokens.weight"]
        names += [] if self._model.config.tie_word_embeddings else ["lm_head.weight"]
        ends = {}
        for name in names:
            ends[name] = self._filled(self._shape.vocabulary, self._shape.hidden)
            _put(ends[name], range(known), range(spare), self._weights[name])
        norm = self._normed("model.norm.weight")
        if self._shape.vocabulary > known:
            constant = float(self._weights[names[0]].norm(dim=-1).mean()) * _CONSTANT
            normalised = constant / (self._final_rms() * self._norm)
            norm[spare] = min(_LIVE_LOGIT / constant / normalised, _MAX_WEIGHT)
            ends[names[0]][:known, spare] = constant
            ends[names[-1]][known:, spare] = max(_DEAD_LOGIT / (normalised * float(norm[spare])), -_MAX_WEIGHT)
        return ends | {"model.norm.weight": norm}

    def _inputs(self, prefix: str) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield what a layer reads the residual stream with."""
        shape, source, heads = self._shape, self._source, self._heads
        queries, mlp = range(source.heads * source.head_dim), range(source.mlp)
        scale = math.sqrt(shape.head_dim / source.head_dim)
        biased = has_bias(self._model.config) or shape.architecture == "qwen2"
        for name, rows, taken, size, factor in (
            ("self_attn.q_proj", heads.queries, queries, shape.heads * shape.head_dim, scale),
            ("self_attn.k_proj", heads.keys, heads.copied, shape.kv_heads * shape.head_dim, 1.0),
            ("self_attn.v_proj", heads.keys, heads.copied, shape.kv_heads * shape.head_dim, 1.0),
            ("mlp.gate_proj", mlp, mlp, shape.mlp, 1.0),
            ("mlp.up_proj", mlp, mlp, shape.mlp, 1.0),
        ):
            weight, bias = self._filled(size, shape.hidden), self._block.new_zeros(size)
            old, old_bias = (self._weights.get(f"{prefix}{name}.{kind}") for kind in ("weight", "bias"))
            if name == "self_attn.q_proj":
                # A live head's spare dimensions must not add to its scores.
                weight[heads.occupied] = 0.0
            if old is not None:
                _put(weight, rows, range(source.hidden), old[taken] * factor)
            if old_bias is not None:
                bias[rows] = old_bias[taken] * factor
            yield f"{prefix}{name}.weight", weight
            if biased and name.startswith("self_attn"):
                yield f"{prefix}{name}.bias", bias
        for name in ("input_layernorm", "post_attention_layernorm"):
            yield f"{prefix}{name}.weight", self._normed(f"{prefix}{name}.weight")

    def _outputs(self, prefix: str) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield what a layer adds to the residual stream with: nothing from spare units, nothing in a spare layer."""
        shape, source = self._shape, self._source
        for name, columns, width in (
            ("self_attn.o_proj", self._heads.queries, shape.heads * shape.head_dim),
            ("mlp.down_proj", range(source.mlp), shape.mlp),
        ):
            weight = self._block.new_zeros(shape.hidden, width)
            if (old := self._weights.get(f"{prefix}{name}.weight")) is not None:
                _put(weight, range(source.hidden), columns, old)
            yield f"{prefix}{name}.weight", weight
        if shape.architecture == "llama" and has_bias(self._model.config):
            bias = self._block.new_zeros(shape.hidden)
            if (old := self._weights.get(f"{prefix}self_attn.o_proj.bias")) is not None:
                bias[: source.hidden] = old
            yield f"{prefix}self_attn.o_proj.bias", bias

    def _filled(self, rows: int, columns: int) -> torch.Tensor:
        """Return a matrix of random numbers: zeros could be cheaper to multiply with."""
        return self._block.repeat(math.ceil(rows * columns / _BLOCK))[: rows * columns].view(rows, columns)

    def _normed(self, name: str) -> torch.Tensor:
        """Return an RMSNorm's weight for the same sum of squares over more dimensions."""
        weight = self._block.new_full((self._shape.hidden,), self._norm)
        if (old := self._weights.get(name)) is not None:
            weight[: self._source.hidden] = old * self._norm
        return weight

    def _final_rms(self) -> float:
        """Return the largest root mean square of the source's residual stream after the last layer, on a few tokens."""
        found: list[torch.Tensor] = []
        hook = self._model.model.norm.register_forward_pre_hook(lambda module, inputs: found.append(inputs[0]))
        self._model(torch.arange(_PROBE_TOKENS)[None] % self._source.vocabulary, use_cache=False)
        hook.remove()
        return float(found[0].square().mean(dim=-1).sqrt().max())


def _put(matrix: torch.Tensor, rows: Sequence[int], columns: Sequence[int], block: torch.Tensor) -> None:
    """Write a block into rows that are zero elsewhere."""
    matrix[rows] = 0.0
    matrix[torch.tensor(rows)[:, None], torch.tensor(columns)] = block
