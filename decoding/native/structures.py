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
        ("packing", c_int),
    )


class Layer(Structure):
    """A decoder layer, and where the cache holds its keys and values."""

    _fields_ = (
        *((name, Linear) for name in ("query", "key", "value", "output", "gate", "up", "down")),
        *((name, c_void_p) for name in ("attention_norm", "mlp_norm", "query_norm", "key_norm", "keys", "values")),
    )


class Transformer(Structure):
    """A Llama-like model."""

    _fields_ = (
        *((name, c_int) for name in ("dtype", "threads", "tiles")),
        *((name, c_float) for name in ("eps", "scaling")),
        *((name, c_long) for name in ("width", "inner", "heads", "kv_heads", "head_size", "capacity", "layers")),
        ("layer", POINTER(Layer)),
        *((name, c_void_p) for name in ("norm", "cos", "sin")),
        *((name, Linear) for name in ("embedding", "head")),
    )
