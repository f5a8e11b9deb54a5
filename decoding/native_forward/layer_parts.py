"""Parts of a decoder's layers, as transformers has them, and the shapes that the kernels take for granted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from decoding.native.architectures import Architecture
from decoding.native.structures import Linear, Norm
from decoding.native.weight_memory import shape_of
from decoding.native_forward.experts import are_odd, has_experts
from decoding.native_forward.recurrent_states import recurrent_sizes

LinearOf = Callable[[Any], Linear]
NormOf = Callable[[Any], Norm]
Shape = tuple[int, ...]


def inputs_of_layer(layer: Any, linear: LinearOf, norm: NormOf) -> dict[str, Any]:
    """Return the fields of C's ``Layer`` about the layer's own inputs and the scale of its outputs.

    Args:
        linear: returns a linear layer as C takes it.
        norm: likewise a norm.
    """
    fields: dict[str, Any] = {"scale": float(layer.layer_scalar)} if hasattr(layer, "layer_scalar") else {}
    if hasattr(layer, "per_layer_input_gate"):
        fields["input_gate"] = linear(layer.per_layer_input_gate)
        fields["input_output"] = linear(layer.per_layer_projection)
        fields["input_norm"] = norm(layer.post_per_layer_input_norm)
    return fields


def inputs_of_all(inner: Any, linear: LinearOf, norm: NormOf) -> dict[str, Any]:
    """Return the fields of C's ``Transformer`` about layers' own inputs; none where they have no such inputs."""
    if not getattr(inner, "hidden_size_per_layer_input", 0):
        return {}
    return {
        "input_projection": linear(inner.per_layer_model_projection),
        "projection_norm": norm(inner.per_layer_projection_norm),
        "input_size": inner.hidden_size_per_layer_input,
        "projection_scale": inner.per_layer_model_projection_scale,
        "input_scale": inner.per_layer_input_scale,
    }


def sources_of_layers(config: Any) -> dict[int, int]:
    """Return the layer whose keys and values another one attends to, by the other's index."""
    modes, kinds = getattr(config, "kv_sharing_modes", ()), getattr(config, "layer_types", ())
    stored = {kinds[index]: index for index, mode in enumerate(modes) if mode == "store"}
    return {index: stored[kinds[index]] for index, mode in enumerate(modes) if mode == "reuse"}


class Heads(NamedTuple):
    """Heads of attention: their size, and the number of those of keys and values."""

    size: int
    of_keys: int


def heads_of(attention: Any, config: Any) -> Heads:
    """Return the heads of an attention; a configuration may have settings of each layer."""
    each = getattr(config, "per_layer_config", None)
    own = config if each is None or not hasattr(attention, "layer_idx") else each[attention.layer_idx]
    return Heads(attention.head_dim, int(own.num_key_value_heads))


def recurrent_modules(inner: Any, architecture: Architecture) -> list[Any]:
    """Return the modules in the place of attention, of the layers that have one."""
    return [getattr(layer, str(architecture.recurrent)) for layer in inner.layers if not hasattr(layer, "self_attn")]


def first_attention(inner: Any) -> Any:
    """Return the attention of the first layer that has one; None if none has."""
    return next((layer.self_attn for layer in inner.layers if hasattr(layer, "self_attn")), None)


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
