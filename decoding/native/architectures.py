"""Architectures whose forward pass the C kernels know: what sets each apart from Llama's, a row for each model type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

_ACTIVATIONS: Mapping[str, int] = {"silu": 0, "swish": 0, "gelu_pytorch_tanh": 1}
"""Activation functions, as they are numbered in C."""


def _slides(config: Any, layer: int) -> bool:
    return bool(config.layer_types[layer] == "sliding_attention")


def _by_distance(config: Any, positions: torch.Tensor) -> torch.Tensor:
    """Return a factor that grows with every multiple of the length that the model was first made for."""
    rope = config.rope_parameters
    whole = torch.floor(positions / rope["original_max_position_embeddings"])
    return 1 + float(rope["llama_4_scaling_beta"]) * torch.log(1 + whole)


@dataclass(frozen=True)
class Architecture:
    """A decoder's differences from Llama's, by transformers' names of modules and settings.

    Attributes:
        norms: a layer's norms before and behind attention, before and behind the MLP; None for no norm.
        head_norms: those of queries and keys, where the model has them.
        norm_offset: added to the norms' weights.
        mlp: the layers of the MLP: gate, up and down; None without a gate, whose place the up layer takes.
        mlp_name: that of the MLP's module.
        output: the layer behind attention.
        final_norm: the norm before the output layer.
        rotary: the rotary embeddings.
        recurrent: the module in the place of attention where a layer has a recurrent state; None if no layer has.
        activation: the setting that names the activation function; empty for SiLU in all models.
        flags: switches of the C structure ``Transformer``.
        numbers: multipliers and caps of that structure, from a configuration.
        is_rotated: True if the layer of this index has positions.
        rotary_by_type: True if layers of each type have rotary frequencies of their own.
        adjacent_tables: True if rotary tables have the values of a pair side by side.
        query_scales: factors of queries, by a configuration and positions; None for no factors.
    """

    norms: tuple[str | None, ...] = ("input_layernorm", None, "post_attention_layernorm", None)
    head_norms: tuple[str, str] = ("q_norm", "k_norm")
    norm_offset: float = 0.0
    mlp: tuple[str, str | None, str] = ("gate_proj", "up_proj", "down_proj")
    mlp_name: str = "mlp"
    output: str = "o_proj"
    final_norm: str = "norm"
    rotary: str = "rotary_emb"
    recurrent: str | None = None
    activation: str = "hidden_act"
    flags: Mapping[str, int] = field(default_factory=lambda: {"rounded_norms": 1})
    numbers: Callable[[Any], Mapping[str, float]] = lambda _: {}
    is_rotated: Callable[[Any, int], bool] = lambda *_: True
    rotary_by_type: bool = False
    adjacent_tables: bool = False
    query_scales: Callable[[Any, torch.Tensor], torch.Tensor] | None = None

    def activation_of(self, config: Any) -> int | None:
        """Return the number in C of the activation function of a model; None if it is another."""
        return _ACTIVATIONS.get(getattr(config, self.activation, "") if self.activation else "silu")


_LLAMA = Architecture()
_BEHIND = (None, "post_attention_layernorm", None, "post_feedforward_layernorm")
_AROUND = (
    *("input_layernorm", "post_attention_layernorm"),
    *("pre_feedforward_layernorm", "post_feedforward_layernorm"),
)
_GEMMA = Architecture(norm_offset=1.0, flags={})
_GEMMA_2 = replace(
    _GEMMA,
    norms=_AROUND,
    activation="hidden_activation",
    numbers=lambda config: {
        "attention_cap": config.attn_logit_softcapping or 0.0,
        "logit_cap": config.final_logit_softcapping or 0.0,
    },
)
_GEMMA_4 = replace(
    _GEMMA_2,
    norm_offset=0.0,
    rotary_by_type=True,
    numbers=lambda config: {"logit_cap": config.final_logit_softcapping or 0.0},
)
_OLMO = Architecture(norms=_BEHIND, flags={})
_COHERE = Architecture(
    norms=("input_layernorm", None, None, None),
    flags={"centred": 1, "parallel": 1, "adjacent": 1},
    numbers=lambda config: {"logit_scale": config.logit_scale},
    adjacent_tables=True,
)
_GLM = Architecture(flags={"rounded_norms": 1, "adjacent": 1})

_LFM_2 = Architecture(
    norms=("operator_norm", None, "ffn_norm", None),
    head_norms=("q_layernorm", "k_layernorm"),
    mlp=("w1", "w3", "w2"),
    mlp_name="feed_forward",
    output="out_proj",
    final_norm="embedding_norm",
    recurrent="conv",
    activation="",
)

ARCHITECTURES: Mapping[str, Architecture] = {
    **dict.fromkeys(("llama", "mistral", "ministral", "phi3", "qwen2", "qwen3"), _LLAMA),
    **dict.fromkeys(("mixtral", "olmoe", "qwen2_moe", "qwen3_moe"), _LLAMA),
    "smollm3": Architecture(is_rotated=lambda config, layer: bool(config.no_rope_layers[layer])),
    "granite": Architecture(
        numbers=lambda config: {
            "embedding_scale": config.embedding_multiplier,
            "residual_scale": config.residual_multiplier,
            "logit_scale": 1 / config.logits_scaling,
        }
    ),
    "olmo2": _OLMO,
    "olmo3": replace(_OLMO, rotary_by_type=True),
    "gemma": _GEMMA,
    "gemma2": _GEMMA_2,
    "gemma3_text": replace(_GEMMA_2, rotary_by_type=True),
    **dict.fromkeys(("gemma4_text", "gemma4_unified_text"), _GEMMA_4),
    "starcoder2": Architecture(mlp=("c_fc", None, "c_proj"), flags={"centred": 1}),
    "cohere": _COHERE,
    "cohere2": replace(_COHERE, is_rotated=_slides),
    "exaone4": Architecture(
        norms=_BEHIND, is_rotated=lambda config, layer: config.sliding_window is None or _slides(config, layer)
    ),
    "ministral3": Architecture(query_scales=_by_distance),
    "glm": _GLM,
    "glm4": replace(
        _GLM,
        norms=("input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"),
    ),
    "hunyuan_v1_dense": Architecture(
        head_norms=("query_layernorm", "key_layernorm"), flags={"rounded_norms": 1, "norms_last": 1}
    ),
    "lfm2": _LFM_2,
    "lfm2_moe": replace(_LFM_2, rotary="pos_emb"),
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text"), replace(_GEMMA, recurrent="linear_attn", flags={"gated": 1})),
}
"""By transformers' model type."""
