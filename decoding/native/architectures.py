"""Architectures whose forward pass the C kernels know: what sets each apart from Llama's, a row for each model type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ACTIVATIONS: Mapping[str, int] = {"silu": 0, "swish": 0, "gelu_pytorch_tanh": 1}
"""Activation functions, as they are numbered in C."""


def _no_numbers(_: Any) -> dict[str, float]:
    return {}


def _always(*_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Architecture:
    """A decoder's differences from Llama's, by transformers' names of modules and settings.

    Attributes:
        norms: a layer's norms before and behind attention, before and behind the MLP; None for no norm.
        head_norms: those of queries and keys, where the model has them.
        norm_offset: added to the norms' weights.
        mlp: the layers of the MLP: gate, up and down; None for no gate, whose place the up layer takes.
        activation: the setting that names the activation function.
        flags: switches of the C structure ``Transformer``.
        numbers: multipliers and caps of that structure, from a configuration.
        is_rotated: True if the layer of this index has positions.
        rotary_by_type: True if layers of each type have rotary frequencies of their own.
        adjacent_tables: True if rotary tables have the values of a pair side by side.
    """

    norms: tuple[str | None, ...] = ("input_layernorm", None, "post_attention_layernorm", None)
    head_norms: tuple[str, str] = ("q_norm", "k_norm")
    norm_offset: float = 0.0
    mlp: tuple[str, str | None, str] = ("gate_proj", "up_proj", "down_proj")
    activation: str = "hidden_act"
    flags: Mapping[str, int] = field(default_factory=lambda: {"rounded_norms": 1})
    numbers: Callable[[Any], Mapping[str, float]] = _no_numbers
    is_rotated: Callable[[Any, int], bool] = _always
    rotary_by_type: bool = False
    adjacent_tables: bool = False


_LLAMA = Architecture()

ARCHITECTURES: Mapping[str, Architecture] = {
    **dict.fromkeys(("llama", "mistral", "ministral", "phi3", "qwen2", "qwen3"), _LLAMA),
    "smollm3": Architecture(is_rotated=lambda config, layer: bool(config.no_rope_layers[layer])),
    "granite": Architecture(
        numbers=lambda config: {
            "embedding_scale": config.embedding_multiplier,
            "residual_scale": config.residual_multiplier,
            "logit_scale": 1 / config.logits_scaling,
        }
    ),
    "olmo2": Architecture(norms=(None, "post_attention_layernorm", None, "post_feedforward_layernorm"), flags={}),
}
"""By transformers' model type."""
