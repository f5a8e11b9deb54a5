"""LlamaForward: the forward pass of a Llama-like model over a few tokens, in C.

transformers launches hundreds of operations in a forward pass whose minimum time is that of reading the weights. Their
overhead is most of a small model's step and a third of a large one's; here a step is one call. Results are
batch-invariant: in any dtype, a step with candidates gives the logits of plain steps bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
import torch
from torch import nn

from decoding.native.kernels import DTYPES, NativeKernels, linear
from decoding.native.structures import Layer, Linear, Transformer
from decoding.quantization.int8 import Int8Linear
from decoding.quantization.packed import Packed, PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel

POSITIONS = 1024
"""Rotary tables grow by this many positions, or by half of their size if that is more."""
COPY_SHARE = 0.25
"""The fraction of free memory that bfloat16 copies of weights may take."""
SPLIT_ROWS = 4096
"""Rows of a weight converted and compared at a time, to bound the temporary memory."""
_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


class RotaryTables(NamedTuple):
    """Cosines and sines of the first ``positions`` positions, each of shape (positions, head size)."""

    positions: int
    cos: torch.Tensor
    sin: torch.Tensor


class LlamaForward:
    """A model's weights as the C kernels take them, valid until one of the model's tensors is moved or replaced.

    Attributes:
        dtype: of the activations.
        is_int8: True if weights of some layers are int8.
        is_packed: True if weights are packed ones of a GGUF file.
        copied_bytes: the memory of bfloat16 copies of float32 weights, made if that is lossless: half as much is read.
        vocabulary: the number of logits.
    """

    def __init__(self, model: PreTrainedModel, kernels: NativeKernels) -> None:
        """
        Args:
            model: one for which :func:`~decoding.llama.native_support.why_not_native` returns None.
        """
        self.kernels, self.dtype = kernels, model.dtype
        inner: Any = model.get_decoder()
        config = model.config
        self._rotary: Callable[..., tuple[torch.Tensor, torch.Tensor]] = inner.rotary_emb
        self._embedding = model.get_input_embeddings()
        # Keeps the memory alive that addresses refer to, even if the model's own tensors are replaced.
        self._held: list[torch.Tensor] = []
        self.copied_bytes, self.is_int8 = 0, False
        self.is_packed = any(isinstance(module, Packed) for module in model.modules())
        self._narrow = self.dtype == torch.float32 and _fits_bfloat16(model)
        self._layers = [self._layer(layer) for layer in inner.layers]
        attention = inner.layers[0].self_attn
        self._transformer = Transformer(
            dtype=DTYPES[self.dtype],
            tiles=kernels.tiles,
            eps=inner.norm.variance_epsilon,
            scaling=attention.scaling,
            width=config.hidden_size,
            inner=config.intermediate_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_size=attention.head_dim,
            layers=len(self._layers),
            norm=self._address(inner.norm),
            embedding=self._table(),
            head=self._linear(model.get_output_embeddings()),
        )
        self.vocabulary: int = self._transformer.head.N
        self._looks_up = bool(self._transformer.embedding.weight)
        self._tables: RotaryTables | None = None

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self._layers)

    def empty_states(self) -> torch.Tensor:
        """Return the keys, or values, of no tokens, shape (1, heads, 0, head size)."""
        return torch.empty((1, self._transformer.kv_heads, 0, self._transformer.head_size), dtype=self.dtype)

    def layers(self) -> Array[Layer]:
        """Return the layers' addresses, without those of a cache."""
        return (Layer * len(self._layers))(*self._layers)

    def transformer(self, layers: Array[Layer], capacity: int) -> Transformer:
        """Return the model with these layers.

        Args:
            layers: with the addresses of a cache.
            capacity: the tokens that the cache has room for.
        """
        transformer = Transformer.from_buffer_copy(self._transformer)
        transformer.layer, transformer.capacity = layers, capacity
        return transformer

    def prepare(self, transformer: Transformer, positions: int) -> RotaryTables:
        """Set what may change from step to step: rotary tables for so many positions, and the number of threads.

        Returns:
            The tables, which the caller holds until the step has ended: another thread may replace this model's.
        """
        transformer.threads = torch.get_num_threads()
        # Read once: all sessions of the model share them, on threads of their own.
        tables = self._tables
        if tables is None or positions > tables.positions:
            tables = self._tables = self._make_tables(positions)
        transformer.cos, transformer.sin = tables.cos.data_ptr(), tables.sin.data_ptr()
        return tables

    def embedded(self, token_ids: Sequence[int]) -> torch.Tensor | None:
        """Return the tokens' embeddings, shape (T, width), as a tensor of their own; None if C looks them up."""
        if self._looks_up:
            return None
        with torch.inference_mode():
            embedded: torch.Tensor = self._embedding(torch.tensor(token_ids))
            return embedded.contiguous()

    def _make_tables(self, positions: int) -> RotaryTables:
        """Return rotary tables for these positions and more."""
        count = positions + max(POSITIONS, positions // 2)
        dummy = torch.empty(1, 1, 1, dtype=self.dtype)
        cos, sin = (table[0].to(self.dtype).contiguous() for table in self._rotary(dummy, torch.arange(count)[None]))
        return RotaryTables(count, cos, sin)

    def _layer(self, layer: Any) -> Layer:
        attention, mlp = layer.self_attn, layer.mlp
        return Layer(
            *(self._linear(getattr(attention, name)) for name in _PROJECTIONS),
            *(self._linear(each) for each in (mlp.gate_proj, mlp.up_proj, mlp.down_proj)),
            *(self._address(norm) for norm in (layer.input_layernorm, layer.post_attention_layernorm)),
            *(self._address(getattr(attention, name, None)) for name in ("q_norm", "k_norm")),
        )

    def _table(self) -> Linear:
        """Return the embedding weight; an empty layer if embeddings are more than a lookup."""
        if isinstance(self._embedding, PackedEmbedding) and self.dtype == torch.float32:
            return self._embedding.packed.structure()
        if type(self._embedding) is not nn.Embedding:
            return Linear()
        self._held.append(weight := self._embedding.weight.detach())
        return linear(weight, None, None, self.dtype)

    def _linear(self, layer: Any) -> Linear:
        if isinstance(layer, PackedLinear):
            bias = None if layer.bias is None else layer.bias.to(self.dtype)
            self._held += [layer.packed.groups] if bias is None else [layer.packed.groups, bias]
            return layer.packed.structure(bias)
        scales, weight = layer.scales if isinstance(layer, Int8Linear) else None, layer.weight.detach()
        if self._narrow and weight.dtype == torch.float32:
            weight = weight.bfloat16()
            self.copied_bytes += weight.nbytes
        bias = None if layer.bias is None else layer.bias.detach().to(self.dtype)
        self._held += [tensor for tensor in (weight, bias, scales) if tensor is not None]
        self.is_int8 |= scales is not None
        return linear(weight, bias, scales, self.dtype)

    def _address(self, norm: Any) -> int | None:
        if norm is None:
            return None
        self._held.append(norm.weight.detach())
        address: int = norm.weight.data_ptr()
        return address


def _fits_bfloat16(model: PreTrainedModel) -> bool:
    """Return True if all float32 weights are exact in bfloat16 and their copies fit in memory."""
    weights = {id(layer.weight): layer.weight.detach() for layer in model.modules() if type(layer) is nn.Linear}
    room = COPY_SHARE * psutil.virtual_memory().available
    if 2 * sum(weight.numel() for weight in weights.values()) > room:
        return False
    return all(
        torch.equal(part, part.bfloat16().float()) for weight in weights.values() for part in weight.split(SPLIT_ROWS)
    )
