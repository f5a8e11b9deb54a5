"""NativeForward: a model's weights and shapes as structures of the C kernels, with which a forward pass is one call.

transformers launches hundreds of operations in a forward pass whose minimum time is that of reading the weights. Their
overhead is most of a small model's step and a third of a large one's. NativePrefix makes the call. Results are
batch-invariant: in any dtype, a step with candidates gives the logits of plain steps bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import Array
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from decoding.model.step_inputs import AttentionPattern, attention_patterns_of
from decoding.native.architectures import ARCHITECTURES
from decoding.native.kernels import CACHE_DTYPES, DTYPES, NativeKernels, linear
from decoding.native.structures import Layer, Linear, Mixture, Norm, Transformer
from decoding.native.weight_memory import LARGE, SIDE, WeightMemory, copy_for_products, rows_of
from decoding.native_forward.experts import has_experts, inner_size, mixture_of
from decoding.native_forward.layer_parts import (
    Heads,
    first_attention,
    heads_of,
    inputs_of_all,
    inputs_of_layer,
    recurrent_modules,
    sources_of_layers,
)
from decoding.native_forward.recurrent_states import RecurrentStates, recurrence_of, recurrent_sizes
from decoding.native_forward.rotary_tables import Rotary
from decoding.quantization.int8 import Int8Linear
from decoding.quantization.narrow import NarrowLinear, fits_bfloat16
from decoding.quantization.packed import Packed, PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class NativeForward:
    """A model's weights as the C kernels take them, valid until one of the model's tensors is moved or replaced.

    Attributes:
        dtype: of the activations.
        cache_dtype: of keys and values in the cache: float16, as in llama.cpp, beside packed weights, whose products
            round activations to int8; half as much is read.
        rounds: True if products of some layers round their rows: those by int8, packed and a file's bfloat16 weights.
        has_experts: True if layers are mixtures of experts.
        is_packed: True if weights are packed ones of a GGUF file.
        copied_bytes: the memory of bfloat16 copies of float32 weights, made if that is lossless: half as much is read.
        vocabulary: the number of logits.
    """

    def __init__(self, model: PreTrainedModel, kernels: NativeKernels) -> None:
        """
        Args:
            model: one for which :func:`~decoding.native_forward.native_check.why_not_native` returns None.
        """
        self.kernels, self.dtype = kernels, model.dtype
        inner: Any = model.get_decoder()
        config: Any = model.config.get_text_config(decoder=True)
        self._architecture = architecture = ARCHITECTURES[config.model_type]
        self._config = config
        recurrent = recurrent_modules(inner, architecture)
        self._patterns = AttentionPattern() if recurrent else attention_patterns_of(config)
        self._sizes = recurrent_sizes(recurrent) if recurrent else None
        self._rotary = Rotary(getattr(inner, architecture.rotary), config, self.dtype)
        self._embedding = model.get_input_embeddings()
        self._memory = WeightMemory()  # of copies of weights
        self._held: list[Any] = []  # the memory that addresses refer to, if the model's tensors are replaced
        self.is_packed = any(isinstance(module, Packed) for module in model.modules())
        self.copied_bytes, self.rounds = 0, self.is_packed
        self.cache_dtype = torch.float16 if self.is_packed and self.dtype == torch.float32 else self.dtype
        self._narrow = self.dtype == torch.float32 and fits_bfloat16(model)
        self._is_large = sum(parameter.numel() for parameter in model.parameters()) > LARGE
        self._sources = sources_of_layers(config)
        attention, final_norm = first_attention(inner), getattr(inner, architecture.final_norm)
        self._heads = heads_of(attention, config)
        self._layers = [self._layer(index, layer) for index, layer in enumerate(inner.layers)]
        self.has_experts = any(layer.mixture.chosen for layer in self._layers)
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
            kv_heads=self._heads.of_keys,
            head_size=self._heads.size,
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

    def new_states(self) -> RecurrentStates:
        """Return the recurrent states of no tokens."""
        assert self._sizes is not None, "no layer is recurrent"
        return RecurrentStates(self._sizes)

    def empty_states(self) -> list[torch.Tensor]:
        """Return the keys, or values, of no tokens, shape (1, heads, 0, head size), of each layer with a cache."""
        own = [layer for layer in self._layers if not (layer.recurrence.mixing or layer.shares)]
        heads = [Heads(layer.head_size, layer.kv_heads) if layer.head_size else self._heads for layer in own]
        return [torch.empty((1, each.of_keys, 0, each.size), dtype=self.cache_dtype) for each in heads]

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
        tables = self._rotary.tables_for(positions)
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
        heads = heads_of(attention, config)
        return Layer(
            *self._projections(attention),
            self._linear(getattr(attention, architecture.output)),
            *around,
            *(self._norm(getattr(attention, name, None)) for name in architecture.head_norms),
            window=pattern.sliding_window or 0,
            rotary=self._rotary.kind_of(index),
            mixture=mixture,
            value_norm=self._norm(getattr(attention, "v_norm", None), size=heads.size),
            head_size=0 if heads == self._heads else heads.size,
            kv_heads=0 if heads == self._heads else heads.of_keys,
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
        queries, keys = (getattr(self._config, f"num_{name}_heads") for name in ("attention", "key_value"))
        return self._parts(attention.qkv_proj, [count * attention.head_dim for count in (queries, keys, keys)])

    def _mlp(self, mlp: Any) -> list[Linear]:
        """Return gate, up and down layers, of a mixture its shared expert's; the first two may be halves of one."""
        mlp = getattr(mlp, "shared_expert", mlp)
        if has_experts(mlp):
            return [Linear()] * 3
        gate, up, down = self._architecture.mlp
        if hasattr(mlp, "gate_up_proj"):
            halves = self._parts(mlp.gate_up_proj, (mlp.gate_up_proj.out_features // 2,) * 2)
            return [*halves, self._linear(mlp.down_proj)]
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
        fits_tiles = self.kernels.tiles and not any(size % SIDE for size in parts)
        if self._narrow and weight.dtype == torch.float32:
            weight = copy_for_products(weight, self._memory, tiles=fits_tiles and self._is_large)
            self.copied_bytes += weight.nbytes
        elif not fits_tiles:
            weight = rows_of(weight)
        bias = None if layer.bias is None else layer.bias.detach().to(self.dtype)
        self._held += [tensor for tensor in (weight, bias, scales) if tensor is not None]
        rounds = isinstance(layer, NarrowLinear) and weight.dtype == torch.bfloat16
        self.rounds |= rounds or scales is not None
        return linear(weight, bias, scales, self.dtype, rounds=rounds)

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
        weight, bias = torch.ones(size) if own is None else own.detach().float(), getattr(norm, "bias", None)
        if added := self._architecture.norm_offset if offset is None else offset:
            weight = weight + added
        bias = None if bias is None else bias.detach().float()
        self._held += [weight] if bias is None else [weight, bias]
        return Norm(weight.data_ptr(), None if bias is None else bias.data_ptr())
