"""The structures of c/types.h, for ctypes."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_float, c_int, c_long, c_void_p


class Linear(Structure):
    """A linear layer: addresses of its weight (N, K), int8 scales (N,) or None, and bias (N,) or None."""

    _fields_ = (
        ("weight", c_void_p),
        ("scales", c_void_p),
        ("bias", c_void_p),
        ("N", c_long),
        ("K", c_long),
        ("narrow", c_int),
        ("rounds", c_int),
        ("packing", c_int),
        ("is_fine", c_int),
        ("in_tiles", c_int),
    )


class Norm(Structure):
    """A norm: addresses of its weight and bias, float32, or None."""

    _fields_ = (("weight", c_void_p), ("bias", c_void_p))


class Recurrence(Structure):
    """The recurrent state of a layer, and what it is made of; empty in a layer with attention."""

    _fields_ = (
        *((name, c_int) for name in ("mixing", "tiled")),
        *((name, c_void_p) for name in ("taps", "taps_bias", "columns")),
        *((name, Linear) for name in ("decay", "beta")),
        *((name, c_void_p) for name in ("log_decay", "decay_bias")),
        ("gated_norm", Norm),
        *((name, c_void_p) for name in ("state", "updates")),
    )


class Mixture(Structure):
    """A layer's experts: gate, up and down of each, side by side; empty in a layer without experts."""

    _fields_ = (
        ("router", Linear),
        ("experts", POINTER(Linear)),
        ("shared_gate", Linear),
        *((name, c_void_p) for name in ("bias", "scales")),
        *((name, Norm) for name in ("router_norm", "input_norm", "output_norm", "mlp_norm")),
        ("chosen", c_long),
        *((name, c_int) for name in ("sigmoid", "normalised")),
        ("scale", c_float),
    )


class Layer(Structure):
    """A decoder layer, and where the cache holds its keys and values."""

    _fields_ = (
        *((name, Linear) for name in ("query", "key", "value", "output", "gate", "up", "down")),
        *((name, Norm) for name in ("attention_norm", "attention_post_norm", "mlp_norm", "mlp_post_norm")),
        *((name, Norm) for name in ("query_norm", "key_norm", "value_norm")),
        *((name, c_long) for name in ("head_size", "kv_heads")),
        ("shares", c_int),
        ("scale", c_float),
        *((name, Linear) for name in ("input_gate", "input_output")),
        ("input_norm", Norm),
        *((name, c_void_p) for name in ("keys", "values")),
        *((name, c_long) for name in ("window", "rotary")),
        ("recurrence", Recurrence),
        ("mixture", Mixture),
    )


ROTARIES = 2
"""The kinds of rotary tables that a model may have."""


class Transformer(Structure):
    """A decoder.

    Attributes:
        tables: holds the rotary tables that it refers to.
    """

    tables: object = None
    _fields_ = (
        *((name, c_int) for name in ("dtype", "threads", "tiles", "activation", "centred", "rounded_norms")),
        *((name, c_int) for name in ("whole_norms", "norms_last", "adjacent", "parallel", "gated", "cache_dtype")),
        *((name, c_float) for name in ("eps", "scaling", "embedding_scale", "residual_scale", "logit_scale")),
        *((name, c_float) for name in ("attention_cap", "logit_cap")),
        *((name, c_long) for name in ("width", "inner", "heads", "kv_heads", "head_size", "capacity")),
        ("layers", c_long),
        ("layer", POINTER(Layer)),
        ("norm", Norm),
        *((name, c_void_p * ROTARIES) for name in ("cos", "sin")),
        ("rotated", c_long * ROTARIES),
        ("query_scales", c_void_p),
        *((name, Linear) for name in ("embedding", "head")),
        ("inputs", c_void_p),
        ("input_projection", Linear),
        ("projection_norm", Norm),
        ("input_size", c_long),
        *((name, c_float) for name in ("projection_scale", "input_scale")),
        *((name, c_long) for name in ("taps", "channels", "key_heads", "value_heads", "key_size", "value_size")),
        *((name, c_long) for name in ("room", "pending", "settled")),
    )
