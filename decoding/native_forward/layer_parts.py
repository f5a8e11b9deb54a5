"""Parts of a decoder's layers, as transformers has them, and what single layers have of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from decoding.native.architectures import Architecture
from decoding.native.structures import Linear, Norm

LinearOf = Callable[[Any], Linear]
NormOf = Callable[[Any], Norm]


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
