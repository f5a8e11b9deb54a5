"""Shapes of real models, which a smaller checkpoint can be grown into (see ``checkpoint``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from lade_chat.errors import LadeChatError, UsageError


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a Llama- or Qwen2-like model.

    Attributes:
        architecture: transformers' model type, ``llama`` or ``qwen2``.
        hidden: the width of the residual stream.
        mlp: the width of the MLPs.
        context: the context window in tokens.
    """

    architecture: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp: int
    vocabulary: int
    context: int


_ROPE_TYPES = ("default", "linear", "llama3")
"""Kinds of rotary embedding whose frequencies do not depend on the head's width."""
SHAPES = {
    "qwen2.5-0.5b": Shape("qwen2", 896, 24, 14, 2, 64, 4864, 151_936, 32_768),
    "qwen2.5-1.5b": Shape("qwen2", 1536, 28, 12, 2, 128, 8960, 151_936, 32_768),
    "qwen2.5-7b": Shape("qwen2", 3584, 28, 28, 4, 128, 18_944, 152_064, 32_768),
    "llama-3.2-1b": Shape("llama", 2048, 16, 32, 8, 64, 8192, 128_256, 131_072),
    "llama-3.2-3b": Shape("llama", 3072, 28, 24, 8, 128, 8192, 128_256, 131_072),
    "llama-3.1-8b": Shape("llama", 4096, 32, 32, 8, 128, 14_336, 128_256, 131_072),
}
"""Published shapes by name."""


def shape_named(name: str) -> Shape:
    """Return one of :data:`SHAPES`. Raises UsageError with their names."""
    shape = SHAPES.get(name.strip().lower())
    if shape is None:
        raise UsageError(f"There is no shape '{name}'. Choose from: {', '.join(SHAPES)}.")
    return shape


def fitted(shape: Shape, source: Shape) -> tuple[Shape, str | None]:
    """Return the shape with as many KV heads as the source needs, and a sentence if these are more.

    Raises LadeChatError if any other size of the source does not fit.
    """
    for name in ("hidden", "layers", "heads", "mlp", "vocabulary"):
        mine, wanted = getattr(source, name), getattr(shape, name)
        if mine > wanted:
            raise LadeChatError(f"The model does not fit into that shape: {name} {mine:,} is more than {wanted:,}.")
    if shape.head_dim % source.head_dim:
        raise LadeChatError(f"Heads of {source.head_dim} do not fit into heads of {shape.head_dim}: no multiple.")
    if shape.hidden % shape.heads:
        raise LadeChatError(f"The hidden size {shape.hidden:,} is no multiple of {shape.heads} heads.")
    if shape.vocabulary > source.vocabulary and shape.hidden == source.hidden:
        raise LadeChatError("A larger vocabulary needs a larger hidden size too, for one spare dimension.")
    group = source.heads // source.kv_heads
    for kv_heads in range(shape.kv_heads, shape.heads + 1):
        if shape.heads % kv_heads == 0 and source.kv_heads * ceil(group / (shape.heads // kv_heads)) <= kv_heads:
            break
    else:
        raise LadeChatError(f"{source.kv_heads} KV heads of {group} heads each do not fit into {shape.heads} heads.")
    if kv_heads == shape.kv_heads:
        return shape, None
    return replace(shape, kv_heads=kv_heads), f"{kv_heads} KV heads in place of {shape.kv_heads}, to hold the source's"


def shape_of(config: Any) -> Shape:
    """Return the shape of a configuration. Raises LadeChatError if it is not Llama- or Qwen2-like."""
    rope = getattr(config, "rope_parameters", None) or {}
    problem = None
    if config.model_type not in ("llama", "qwen2"):
        problem = f"it is of type '{config.model_type}'"
    elif getattr(config, "mlp_bias", False) or getattr(config, "use_sliding_window", False):
        problem = "its MLPs have biases, or its attention a window"
    elif rope.get("rope_type", "default") not in _ROPE_TYPES or rope.get("partial_rotary_factor", 1.0) != 1.0:
        problem = "its rotary embedding depends on the head's width"
    if problem:
        raise LadeChatError(f"Only Llama- and Qwen2-like models can be grown, and not this one: {problem}.")
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return Shape(
        config.model_type, config.hidden_size, config.num_hidden_layers, config.num_attention_heads,
        config.num_key_value_heads, head_dim, config.intermediate_size, config.vocab_size,
        config.max_position_embeddings,
    )  # fmt: skip


def has_bias(config: Any) -> bool:
    """Return True if the model's attention has biases."""
    return config.model_type == "qwen2" or bool(getattr(config, "attention_bias", False))
