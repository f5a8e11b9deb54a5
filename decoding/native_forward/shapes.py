"""The shapes of weights that the kernels take for granted: those of the configuration, in every layer alike."""

from __future__ import annotations

from typing import Any

from decoding.native.architectures import Architecture
from decoding.native.tile_order import shape_of
from decoding.native_forward.experts import are_odd, has_experts
from decoding.native_forward.layer_parts import first_attention, heads_of, recurrent_modules
from decoding.native_forward.recurrent_states import recurrent_sizes

Shape = tuple[int, ...]


def misshapen_module(inner: Any, config: Any, architecture: Architecture) -> str | None:
    """Return the name of a decoder's module whose weight has another shape, after pruning perhaps; None if all fit."""
    for index, layer in enumerate(inner.layers):
        wanted = _shapes_in_a_layer(inner, index, config, architecture)
        for name, module in layer.named_modules():
            if name in wanted and _shape(module) != wanted[name]:
                return f"layers.{index}.{name}"
            if has_experts(module) and are_odd(module, config.hidden_size):
                return f"layers.{index}.{name}.experts".replace("..", ".")
    ends = "embed_tokens", architecture.final_norm
    return next((name for name in ends if _shape(getattr(inner, name))[-1:] != (config.hidden_size,)), None)


def head_sizes_of(inner: Any) -> set[int]:
    """Return the sizes of a decoder's attention heads."""
    return {layer.self_attn.head_dim for layer in inner.layers if hasattr(layer, "self_attn")}


def _shapes_in_a_layer(inner: Any, index: int, config: Any, architecture: Architecture) -> dict[str, Shape]:
    """Return shapes by the names of modules in a layer."""
    layer, first, recurrent = inner.layers[index], first_attention(inner), recurrent_modules(inner, architecture)
    width, heads = config.hidden_size, heads_of(getattr(layer, "self_attn", first), config)
    size, queries, keys = heads.size, config.num_attention_heads * heads.size, heads.of_keys * heads.size
    gate, up, down = architecture.mlp
    mlp = getattr(layer, architecture.mlp_name)
    wide = _shape(getattr(mlp, down))[-1] if hasattr(mlp, down) else 0
    query_norm, key_norm = architecture.head_norms
    is_whole = _shape(getattr(first, query_norm, None)) not in ((), (first.head_dim,))
    own_inputs = getattr(inner, "hidden_size_per_layer_input", 0)
    shapes: dict[str, Shape] = {
        "self_attn.q_proj": (queries * (2 if architecture.flags.get("gated") else 1), width),
        **dict.fromkeys(("self_attn.k_proj", "self_attn.v_proj"), (keys, width)),
        "self_attn.qkv_proj": (queries + 2 * keys, width),
        f"self_attn.{architecture.output}": (width, queries),
        f"self_attn.{query_norm}": (queries if is_whole else size,),
        f"self_attn.{key_norm}": (keys if is_whole else size,),
        **dict.fromkeys((f"{architecture.mlp_name}.{name}" for name in (gate, up)), (wide, width)),
        f"{architecture.mlp_name}.gate_up_proj": (2 * wide, width),
        f"{architecture.mlp_name}.{down}": (width, wide),
        "per_layer_input_gate": (own_inputs, width),
        "per_layer_projection": (width, own_inputs),
        **{name: (width,) for name in architecture.norms if name},
    }
    if recurrent:
        sizes, name = recurrent_sizes(recurrent), architecture.recurrent
        values = sizes.value_heads * sizes.value_size
        shapes |= {
            **dict.fromkeys((f"{name}.conv", f"{name}.conv1d"), (sizes.channels, 1, sizes.taps)),
            f"{name}.in_proj": (3 * sizes.channels, width),
            f"{name}.in_proj_qkv": (sizes.channels, width),
            f"{name}.in_proj_z": (values, width),
            **dict.fromkeys((f"{name}.in_proj_a", f"{name}.in_proj_b"), (sizes.value_heads, width)),
            f"{name}.out_proj": (width, values or sizes.channels),
        }
    return shapes


def _shape(module: Any) -> Shape:
    """Return the shape of a module's weight, packed or not; an empty one without a weight."""
    weight = getattr(module, "packed", getattr(module, "weight", None))
    return () if weight is None else shape_of(weight)
