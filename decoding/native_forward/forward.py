"""NativeForward: the forward pass of a model of a known architecture over a few tokens, in C.

transformers launches hundreds of operations in a forward pass whose minimum time is that of reading the weights. Their
overhead is most of a small model's step and a third of a large one's; here a step is one call. Results are
batch-invariant: in any dtype, a step with candidates gives the logits of plain steps bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from decoding.model.inputs import AttentionPattern, attention_patterns_of
from decoding.native.architectures import ARCHITECTURES, Architecture
from decoding.native.kernels import CACHE_DTYPES, DTYPES, NativeKernels, linear
from decoding.native.structures import Layer, Linear, Mixture, Norm, Transformer
from decoding.native.tile_order import SIDE, copy_for_products, rows_of
from decoding.native.weight_memory import WeightMemory
from decoding.native_forward.experts import has_experts, inner_size, mixture_of
from decoding.native_forward.layer_inputs import inputs_of_all, inputs_of_layer, kv_heads_of, sources_of_layers
from decoding.native_forward.recurrent_states import RecurrentStates, recurrence_of, recurrent_sizes
from decoding.quantization.int8 import Int8Linear
from decoding.quantization.narrow import fits_bfloat16
from decoding.quantization.packed import Packed, PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel

POSITIONS = 1024
"""Rotary tables grow by this many positions, or by half of their size if that is more."""


class RotaryTables(NamedTuple):
    """Cosines and sines of the first ``positions`` positions, each of shape (positions, rotated), for each kind.

    Attributes:
        query_scales: factors of queries, shape (positions,); None for no factors.
    """

    positions: int
    cos: list[torch.Tensor]
    sin: list[torch.Tensor]
    query_scales: torch.Tensor | None


class NativeForward:
    """A model's weights as the C kernels take them, valid until one of the model's tensors is moved or replaced.

    Attributes:
        dtype: of the activations.
        cache_dtype: of keys and values in the cache: float16, as in llama.cpp, beside packed weights, whose products
            round activations to int8; half as much is read.
        is_int8: True if weights of some layers are int8.
        has_experts: True if layers are mixtures of experts.
        is_packed: True if weights are packed ones of a GGUF file.
        copied_bytes: the memory of bfloat16 copies of float32 weights, made if that is lossless: half as much is read.
        vocabulary: the number of logits.
    """

    def __init__(self, model: PreTrainedModel, kernels: NativeKernels) -> None:
        """
        Args:
            model: one for which :func:`~decoding.native_forward.support.why_not_native` returns None.
        """
        self.kernels, self.dtype = kernels, model.dtype
        inner: Any = model.get_decoder()
        config: Any = model.config.get_text_config(decoder=True)
        self._architecture = architecture = ARCHITECTURES[config.model_type]
        self._config = config
        recurrent = recurrent_modules(inner, architecture)
        self._patterns = AttentionPattern() if recurrent else attention_patterns_of(config)
        self._sizes = recurrent_sizes(recurrent) if recurrent else None
        self._rotary: Callable[..., tuple[torch.Tensor, torch.Tensor]] = getattr(inner, architecture.rotary)
        self._rotary_types = sorted(set(config.layer_types)) if architecture.rotary_by_type else []
        self._embedding = model.get_input_embeddings()
        self._memory = WeightMemory()  # of copies of weights
        self._held: list[Any] = []  # the memory that addresses refer to, if the model's tensors are replaced
        self.copied_bytes, self.is_int8 = 0, False
        self.is_packed = any(isinstance(module, Packed) for module in model.modules())
        self.cache_dtype = torch.float16 if self.is_packed and self.dtype == torch.float32 else self.dtype
        self._narrow = self.dtype == torch.float32 and fits_bfloat16(model)
        self._sources = sources_of_layers(config)
        index = next(index for index, layer in enumerate(inner.layers) if hasattr(layer, "self_attn"))
        self._heads = inner.layers[index].self_attn.head_dim, kv_heads_of(config, index)
        self._layers = [self._layer(index, layer) for index, layer in enumerate(inner.layers)]
        self.has_experts = any(layer.mixture.chosen for layer in self._layers)
        attention, final_norm = first_attention(inner), getattr(inner, architecture.final_norm)
        query_norm = getattr(attention, architecture.head_norms[0], None)
        numbers = {"embedding_scale": 1.0, "residual_scale": 1.0, "logit_scale": 1.0, **architecture.numbers(config)}
        self._embedding_scale = numbers["embedding_scale"]
        own_scale = torch.as_tensor(getattr(self._embedding, "embed_scale", 1.0))  # in its forward
        numbers["embedding_scale"] *= float(own_scale.to(self.dtype))
        self._transformer = Transformer(
            dtype=DTYPES[self.dtype],
            cache_dtype=CACHE_DTYPES[self.cache_dtype],
            tiles=kernels.tiles,
            activation=architecture.activation_of(config),
            whole_norms=query_norm is not None and query_norm.weight.numel() != attention.head_dim,
            **architecture.flags,
            **numbers,
            eps=next(filter(None, (getattr(final_norm, name, None) for name in ("variance_epsilon", "eps")))),
            scaling=attention.scaling,
            width=config.hidden_size,
            inner=max(max(layer.down.K, inner_size(layer.mixture), layer.input_gate.N) for layer in self._layers),
            heads=config.num_attention_heads,
            kv_heads=self._heads[1],
            head_size=self._heads[0],
            layers=len(self._layers),
            norm=self._norm(final_norm),
            embedding=self._table(),
            head=self._linear(model.get_output_embeddings()),
            **(self._sizes.of_a_layer() if self._sizes else {}),
            **inputs_of_all(inner, self._linear, self._norm),
        )
        self._input_embedding = inner.embed_tokens_per_layer if self._transformer.input_size else None
        self.vocabulary: int = self._transformer.head.N
        self._looks_up = bool(self._transformer.embedding.weight)
        self._tables: RotaryTables | None = None

    def new_states(self) -> RecurrentStates:
        """Return the recurrent states of no tokens."""
        assert self._sizes is not None, "no layer is recurrent"
        return RecurrentStates(self._sizes)

    def empty_states(self) -> list[torch.Tensor]:
        """Return the keys, or values, of no tokens, shape (1, heads, 0, head size), of each layer with a cache."""
        own = [layer for layer in self._layers if not (layer.recurrence.mixing or layer.shares)]
        sizes = [(layer.kv_heads or self._heads[1], layer.head_size or self._heads[0]) for layer in own]
        return [torch.empty((1, heads, 0, size), dtype=self.cache_dtype) for heads, size in sizes]

    def layers(self, caches: Sequence[tuple[int, int]]) -> Array[Layer]:
        """Return the layers' addresses.

        Args:
            caches: the addresses of keys and values of each layer that has a cache.
        """
        layers = (Layer * len(self._layers))(*self._layers)
        own = (layer for layer in layers if not (layer.recurrence.mixing or layer.shares))
        for layer, (keys, values) in zip(own, caches, strict=True):
            layer.keys, layer.values = keys, values
        for index, source in self._sources.items():
            layers[index].keys, layers[index].values = layers[source].keys, layers[source].values
        return layers

    def transformer(self, layers: Array[Layer], capacity: int) -> Transformer:
        """Return the model with these layers.

        Args:
            layers: with the addresses of a cache.
            capacity: the tokens that the cache has room for.
        """
        transformer = Transformer.from_buffer_copy(self._transformer)
        transformer.layer, transformer.capacity = layers, capacity
        return transformer

    def prepare(self, transformer: Transformer, positions: int) -> None:
        """Set what may change from step to step: rotary tables for so many positions, and the number of threads."""
        transformer.threads = torch.get_num_threads()
        # Read once: all sessions of the model share them, on threads of their own.
        tables = self._tables
        if tables is None or positions > tables.positions:
            tables = self._tables = self._make_tables(positions)
        if transformer.tables is tables:
            return
        for kind, (cos, sin) in enumerate(zip(tables.cos, tables.sin, strict=True)):
            transformer.cos[kind], transformer.sin[kind] = cos.data_ptr(), sin.data_ptr()
            transformer.rotated[kind] = cos.shape[1]
        transformer.query_scales = None if tables.query_scales is None else tables.query_scales.data_ptr()
        # Held as long as their addresses: another thread may replace this model's.
        transformer.tables = tables

    def embedded(self, token_ids: Sequence[int]) -> torch.Tensor | None:
        """Return the tokens' embeddings, shape (T, width), as a tensor of their own; None if C looks them up."""
        if self._looks_up:
            return None
        with torch.inference_mode():
            embedded: torch.Tensor = self._embedding(torch.tensor(token_ids)) * self._embedding_scale
            return embedded.contiguous()

    def layer_inputs(self, token_ids: Sequence[int]) -> torch.Tensor | None:
        """Return the tokens' embeddings for each layer, shape (T, layers · input size); None if there are none."""
        if self._input_embedding is None:
            return None
        with torch.inference_mode():
            inputs: torch.Tensor = self._input_embedding(torch.tensor(token_ids))
            return inputs.to(self.dtype).contiguous()

    def _make_tables(self, positions: int) -> RotaryTables:
        """Return rotary tables for these positions and more."""
        count = positions + max(POSITIONS, positions // 2)
        dummy, places = torch.empty(1, 1, 1, dtype=self.dtype), torch.arange(count)[None]
        kinds = [self._rotary(dummy, places, kind) for kind in self._rotary_types] or [self._rotary(dummy, places)]
        cos, sin = ([self._table_of(values[0]) for values in kind] for kind in zip(*kinds, strict=True))
        scales = self._architecture.query_scales
        factors = None if scales is None else scales(self._config, places[0]).to(self.dtype).float()
        return RotaryTables(count, cos, sin, factors)

    def _table_of(self, values: torch.Tensor) -> torch.Tensor:
        """Return cosines or sines with those of a pair half a table apart."""
        if self._architecture.adjacent_tables:
            values = torch.cat((values[:, ::2], values[:, 1::2]), dim=-1)
        return values.to(self.dtype).contiguous()

    def _layer(self, index: int, layer: Any) -> Layer:
        config, architecture = self._config, self._architecture
        mlp = getattr(layer, architecture.mlp_name)
        block = next(filter(has_experts, (mlp, layer)), None)
        parts = self._linear, self._norm, self.dtype, self._held
        mixture = Mixture() if block is None else mixture_of(block, *parts)
        around: list[Linear | Norm] = [
            *self._mlp(mlp),
            *(self._norm(getattr(layer, name) if name else None) for name in architecture.norms),
        ]
        if (attention := getattr(layer, "self_attn", None)) is None:
            return self._recurrent_layer(getattr(layer, str(architecture.recurrent)), around, mixture)
        pattern = self._patterns
        if not isinstance(pattern, AttentionPattern):
            pattern = pattern[config.layer_types[index]]
        rotary = self._rotary_types.index(config.layer_types[index]) if self._rotary_types else 0
        own = attention.head_dim, kv_heads_of(config, index)
        return Layer(
            *self._projections(attention),
            self._linear(getattr(attention, architecture.output)),
            *around,
            *(self._norm(getattr(attention, name, None)) for name in architecture.head_norms),
            window=pattern.sliding_window or 0,
            rotary=rotary if architecture.is_rotated(config, index) else -1,
            mixture=mixture,
            value_norm=self._norm(getattr(attention, "v_norm", None), size=attention.head_dim),
            head_size=0 if own == self._heads else own[0],
            kv_heads=0 if own == self._heads else own[1],
            shares=index in self._sources,
            **inputs_of_layer(layer, self._linear, self._norm),
        )

    def _recurrent_layer(self, module: Any, around: Sequence[Linear | Norm], mixture: Mixture) -> Layer:
        """Return a layer of a recurrent module, between these layers of an MLP and norms."""
        names = ("in_proj_qkv", "in_proj_z") if hasattr(module, "in_proj_qkv") else ("in_proj",)
        mixed, gate, *_ = *(self._linear(getattr(module, name)) for name in names), Linear()
        recurrence = recurrence_of(module, self._linear, partial(self._norm, offset=0.0), self._held)
        output = self._linear(module.out_proj)
        return Layer(mixed, gate, Linear(), output, *around, recurrence=recurrence, mixture=mixture)

    def _projections(self, attention: Any) -> list[Linear]:
        """Return the layers of queries, keys and values, which may be parts of one."""
        if not hasattr(attention, "qkv_proj"):
            key = getattr(attention, "k_proj", None)
            value = getattr(attention, "v_proj", None) or key  # some take keys for values
            others = (Linear() if layer is None else self._linear(layer) for layer in (key, value))
            return [self._linear(attention.q_proj), *others]
        size, config = attention.head_dim, self._config
        keys = config.num_key_value_heads * size
        return self._parts(attention.qkv_proj, (config.num_attention_heads * size, keys, keys))

    def _mlp(self, mlp: Any) -> list[Linear]:
        """Return gate, up and down layers, of a mixture its shared expert's; the first two may be halves of one."""
        if has_experts(mlp):
            if not hasattr(mlp, "shared_expert"):
                return [Linear()] * 3
            mlp = mlp.shared_expert
        gate, up, down = self._architecture.mlp
        if hasattr(mlp, "gate_up_proj"):
            return [
                *self._parts(mlp.gate_up_proj, (mlp.gate_up_proj.out_features // 2,) * 2),
                self._linear(mlp.down_proj),
            ]
        return [self._linear(getattr(mlp, name)) if name else Linear() for name in (gate, up, down)]

    def _parts(self, layer: Any, sizes: Sequence[int]) -> list[Linear]:
        """Return a linear layer in parts of so many outputs."""
        whole, parts, first = self._linear(layer, sizes), [], 0
        itemsize = 1 if whole.scales else 2 if whole.narrow else self.dtype.itemsize
        each = layer.packed.nbytes // whole.N if whole.packing else whole.K * itemsize
        for size in sizes:
            part = Linear.from_buffer_copy(whole)
            part.weight, part.N = whole.weight + first * each, size
            if whole.scales:
                part.scales = whole.scales + first * torch.float32.itemsize
            if whole.bias:
                part.bias = whole.bias + first * self.dtype.itemsize
            parts.append(part)
            first += size
        return parts

    def _table(self) -> Linear:
        """Return the embedding weight; an empty layer if embeddings are more than a lookup."""
        if isinstance(self._embedding, PackedEmbedding) and self.dtype == torch.float32:
            return self._embedding.packed.structure()
        if not isinstance(self._embedding, nn.Embedding):
            return Linear()
        self._held.append(weight := self._embedding.weight.detach())
        return linear(weight, None, None, self.dtype)

    def _linear(self, layer: Any, parts: Sequence[int] = ()) -> Linear:
        """Return a linear layer, which is to be divided into parts of so many outputs."""
        if isinstance(layer, PackedLinear):
            bias = None if layer.bias is None else layer.bias.to(self.dtype)
            self._held += [layer.packed.groups] if bias is None else [layer.packed.groups, bias]
            return layer.packed.structure(bias)
        scales, weight = layer.scales if isinstance(layer, Int8Linear) else None, layer.weight.detach()
        tiles = self.kernels.tiles and not any(size % SIDE for size in parts)
        if self._narrow and weight.dtype == torch.float32:
            weight = copy_for_products(weight, self._memory, tiles=tiles)
            self.copied_bytes += weight.nbytes
        elif not tiles:
            weight = rows_of(weight)
        bias = None if layer.bias is None else layer.bias.detach().to(self.dtype)
        self._held += [tensor for tensor in (weight, bias, scales) if tensor is not None]
        self.is_int8 |= scales is not None
        return linear(weight, bias, scales, self.dtype)

    def _norm(self, norm: Any, offset: float | None = None, size: int = 0) -> Norm:
        """Return a norm in float32, which is exact; an empty one for None.

        Args:
            norm: a module or a weight.
            offset: added to the weight; None for that of the architecture.
            size: of a norm without a weight.
        """
        if norm is None:
            return Norm()
        own = norm if isinstance(norm, torch.Tensor) else getattr(norm, "weight", None)
        weight = torch.ones(size) if own is None else own.detach().float()
        bias = getattr(norm, "bias", None)
        if added := self._architecture.norm_offset if offset is None else offset:
            weight = weight + added
        bias = None if bias is None else bias.detach().float()
        self._held += [weight] if bias is None else [weight, bias]
        return Norm(weight.data_ptr(), None if bias is None else bias.data_ptr())


def recurrent_modules(inner: Any, architecture: Architecture) -> list[Any]:
    """Return the modules in the place of attention, of the layers that have one."""
    return [getattr(layer, str(architecture.recurrent)) for layer in inner.layers if not hasattr(layer, "self_attn")]


def first_attention(inner: Any) -> Any:
    """Return the attention of the first layer that has one; None if none has."""
    return next((layer.self_attn for layer in inner.layers if hasattr(layer, "self_attn")), None)
