"""Architectures of GGUF files whose weights stay packed: transformers' model type, and the settings of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from decoding.gguf.hyperparameters import Hyperparameters
from decoding.gguf.metadata import GgufError
from decoding.native.skeleton import PlainConfig

SettingsOf = Callable[[Hyperparameters, PlainConfig], dict[str, Any]]


def _llama(hparams: Hyperparameters, _: PlainConfig) -> dict[str, Any]:
    if not hparams.optional("expert_count"):
        return {}
    experts = hparams.experts()
    return {**experts, "model_type": "mixtral", "num_local_experts": experts["num_experts"]}


def _all_full(_: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {"layer_types": ["full_attention"] * config.num_hidden_layers}


def _smollm3(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    rotated = [int(layer % 4 != 3) for layer in range(config.num_hidden_layers)]
    return {**_all_full(hparams, config), "no_rope_layers": rotated}


def _phi3(hparams: Hyperparameters, _: PlainConfig) -> dict[str, Any]:
    length = hparams.optional("rope.scaling.original_context_length") or hparams.count("context_length")
    return {**_window(hparams), "original_max_position_embeddings": length}


def _granite(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {
        "embedding_multiplier": hparams.number("embedding_scale", 1.0),
        "residual_multiplier": hparams.number("residual_scale", 1.0),
        "attention_multiplier": hparams.number("attention.scale", 0.0) or config.head_dim**-0.5,
        "logits_scaling": hparams.positive("logit_scale", 1.0),
    }


def _olmo2(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    if not hparams.optional("attention.sliding_window"):
        return {}
    return {"model_type": "olmo3", **_layers(hparams, config), **_two_ropes(config, None)}


def _gemma2(hparams: Hyperparameters, config: PlainConfig, period: int = 2, largest: int = 46) -> dict[str, Any]:
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        **_windowed_layers(hparams, config, period),
        # That follows from the number of layers alone.
        "query_pre_attn_scalar": config.hidden_size // heads if layers == largest else config.head_dim,
        "attn_logit_softcapping": hparams.number("attn_logit_softcapping", 0.0) or None,
        "final_logit_softcapping": hparams.number("final_logit_softcapping", 0.0) or None,
    }


def _gemma3(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    ropes = _two_ropes(config, hparams.positive("rope.freq_base_swa", 10_000.0))
    return {**_gemma2(hparams, config, period=6, largest=62), **ropes}


def _gemma4(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    layers = config.num_hidden_layers
    kinds = hparams.layer_types(layers, 6)
    slides = [kind == "sliding_attention" for kind in kinds]
    heads, inner = (hparams.of_layers(name, layers) for name in ("attention.head_count_kv", "feed_forward_length"))
    shared, full = hparams.optional("attention.shared_kv_layers"), layers - 1
    first_slides = slides.index(True) if any(slides) else full
    takes_keys = not hparams.has_tensor(f"blk.{slides.index(False) if not all(slides) else 0}.attn_v.weight")
    experts = hparams.experts() if hparams.optional("expert_count") else {}
    settings = {
        "hidden_activation": "gelu_pytorch_tanh",
        "sliding_window": hparams.count("attention.sliding_window"),
        "layer_types": kinds,
        "head_dim": hparams.optional("attention.key_length_swa") or config.head_dim,
        "global_head_dim": config.head_dim,
        "num_key_value_heads": heads[first_slides],
        "num_global_key_value_heads": heads[full],
        "attention_k_eq_v": takes_keys,
        "num_kv_shared_layers": shared,
        "intermediate_size": inner[0],
        "use_double_wide_mlp": bool(shared) and inner[full] == 2 * inner[0],
        "hidden_size_per_layer_input": hparams.optional("embedding_length_per_layer_input"),
        "vocab_size_per_layer_input": config.vocab_size,
        "final_logit_softcapping": hparams.number("final_logit_softcapping", 30.0) or None,  # llama.cpp's default
        "enable_moe_block": bool(experts),
        **experts,
        "top_k_experts": experts.get("num_experts_per_tok"),
        # The file's factors say which pairs are rotated.
        "rope_parameters": {
            "full_attention": {**config.rope_parameters, "rope_type": "proportional"},
            "sliding_attention": {
                "rope_type": "default",
                "rope_theta": hparams.positive("rope.freq_base_swa", 10_000.0),
            },
        },
    }
    wide = inner[0] * (2 if settings["use_double_wide_mlp"] else 1)
    wanted = [settings["num_key_value_heads" if each else "num_global_key_value_heads"] for each in slides]
    differs = heads != wanted or inner != [inner[0]] * (layers - shared) + [wide] * shared
    differs |= settings["head_dim"] > config.head_dim
    # A layer shares with the last one of its kind that shares with none.
    if slides[full] or differs or {*kinds[: layers - shared]} != {*kinds}:
        raise GgufError("its layers differ in sizes or kinds as no Gemma 4's do")
    if len({*heads}) > 1 and not takes_keys:
        raise GgufError("its layers differ in their heads of keys, and have values of their own")
    if shared and not settings["hidden_size_per_layer_input"]:
        raise GgufError("its layers share keys without inputs of their own, which transformers cannot run")
    return settings


def _lfm2(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    attends = hparams.has_each("attention.head_count_kv", config.num_hidden_layers)
    return {
        "layer_types": ["full_attention" if each else "conv" for each in attends],
        "conv_L_cache": hparams.count("shortconv.l_cache"),
        "block_auto_adjust_ff_dim": False,  # the width in the file is the adjusted one
        "norm_eps": config.rms_norm_eps,
    }


def _qwen35(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    period, heads = hparams.optional("full_attention_interval") or 4, hparams.count("ssm.time_step_rank")
    keys, values = hparams.count("ssm.group_count"), hparams.count("ssm.inner_size")
    if heads % keys or values % heads:
        raise GgufError(f"its metadata has {heads} heads of states with {keys} heads of keys, for a width of {values}")
    # Blocks of multi-token prediction stand behind the others.
    predicting = hparams.optional("nextn_predict_layers")
    layers = config.num_hidden_layers - predicting
    if layers < period:
        raise GgufError(f"none of its {config.num_hidden_layers} layers has attention, without {predicting} at the end")
    return {
        "num_hidden_layers": layers,
        "layer_types": ["linear_attention" if (at + 1) % period else "full_attention" for at in range(layers)],
        "linear_conv_kernel_dim": hparams.count("ssm.conv_kernel"),
        "linear_key_head_dim": hparams.count("ssm.state_size"),
        "linear_value_head_dim": values // heads,
        "linear_num_key_heads": keys,
        "linear_num_value_heads": heads,
    }


def _lfm2moe(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {
        **_lfm2(hparams, config),
        **hparams.experts(gating=2),
        "num_dense_layers": hparams.optional("leading_dense_block_count"),
        "norm_topk_prob": True,
        "use_expert_bias": True,
        "routed_scaling_factor": hparams.number("expert_weights_scale", 1.0) or 1.0,
    }


def _shared_expert(hparams: Hyperparameters) -> dict[str, Any]:
    """Return the settings of layers with experts, beside one that all tokens pass."""
    shared = hparams.count("expert_shared_feed_forward_length", "feed_forward_length")
    return {**hparams.experts(), "shared_expert_intermediate_size": shared}


def _layers(hparams: Hyperparameters, config: PlainConfig, period: int = 4) -> dict[str, Any]:
    """Return the sliding window, and each layer's type; the last of every so many attends to all tokens."""
    return {**_window(hparams), "layer_types": hparams.layer_types(config.num_hidden_layers, period)}


def _windowed_layers(hparams: Hyperparameters, config: PlainConfig, period: int = 4) -> dict[str, Any]:
    """Return the same of an architecture that transformers runs with a window only."""
    return {**_layers(hparams, config, period), "sliding_window": hparams.count("attention.sliding_window")}


def _window(hparams: Hyperparameters) -> dict[str, Any]:
    return {"sliding_window": hparams.optional("attention.sliding_window") or None}


def _two_ropes(config: PlainConfig, theta: float | None) -> dict[str, Any]:
    """Return rotary parameters for each type of layer; those with a window have this base, and are not scaled."""
    full = config.rope_parameters
    sliding = {"rope_type": "default", "rope_theta": theta or full["rope_theta"]}
    return {"rope_parameters": {"full_attention": full, "sliding_attention": sliding}}


@dataclass(frozen=True)
class FileArchitecture:
    """An architecture by llama.cpp's name.

    Attributes:
        model_type: transformers'.
        settings: configuration entries beyond those that all architectures have.
        has_adjacent_pairs: True if the converter brings the pairs of a rotation side by side.
        is_partial: True if a part of each head may be rotated.
        any_heads: True if the number of heads need not divide the width.
        epsilon: the key of the norms' epsilon.
        biased: the layer of attention that tells if all have biases.
        has_varied_layers: True if counts may differ from layer to layer.
        missing: llama.cpp's values of counts that a file may lack.
    """

    model_type: str
    settings: SettingsOf = lambda *_: {}
    has_adjacent_pairs: bool = False
    is_partial: bool = False
    any_heads: bool = False
    epsilon: str = "attention.layer_norm_rms_epsilon"
    biased: str = "attn_output"
    has_varied_layers: bool = False
    missing: Mapping[str, int] = field(default_factory=dict)


_CENTRED = "attention.layer_norm_epsilon"

PACKED_ARCHITECTURES: Mapping[str, FileArchitecture] = {
    "llama": FileArchitecture("llama", _llama, has_adjacent_pairs=True),
    "qwen2": FileArchitecture("qwen2", _all_full),
    "qwen3": FileArchitecture("qwen3", _all_full),
    "smollm3": FileArchitecture("smollm3", _smollm3, has_adjacent_pairs=True),
    "phi3": FileArchitecture("phi3", _phi3, is_partial=True),
    "granite": FileArchitecture("granite", _granite, has_adjacent_pairs=True),
    "olmo2": FileArchitecture("olmo2", _olmo2),
    "gemma": FileArchitecture("gemma", lambda *_: {"hidden_act": "gelu_pytorch_tanh"}),
    "gemma2": FileArchitecture("gemma2", _gemma2, missing={"attention.sliding_window": 4096}),
    "gemma3": FileArchitecture("gemma3_text", _gemma3),
    "gemma4": FileArchitecture("gemma4_text", _gemma4, any_heads=True, has_varied_layers=True),
    "starcoder2": FileArchitecture(
        "starcoder2",
        lambda hparams, config: {
            "hidden_act": "gelu_pytorch_tanh",
            "use_bias": config.attention_bias,
            "norm_epsilon": config.rms_norm_eps,
            **_window(hparams),
        },
        epsilon=_CENTRED,
    ),
    "cohere2": FileArchitecture(
        "cohere2",
        lambda hparams, config: {
            "logit_scale": hparams.positive("logit_scale", 1.0),
            "layer_norm_eps": config.rms_norm_eps,
            **_windowed_layers(hparams, config),
        },
        epsilon=_CENTRED,
    ),
    "exaone4": FileArchitecture("exaone4", _layers),
    "glm4": FileArchitecture("glm4", is_partial=True, biased="attn_q"),
    "hunyuan-dense": FileArchitecture("hunyuan_v1_dense"),
    "lfm2": FileArchitecture("lfm2", _lfm2),
    "lfm2moe": FileArchitecture("lfm2_moe", _lfm2moe),
    "olmoe": FileArchitecture(
        "olmoe",
        lambda hparams, _: {
            **hparams.experts(),
            "norm_topk_prob": False,
            "clip_qkv": hparams.number("attention.clamp_kqv", 0.0) or None,
        },
    ),
    "qwen2moe": FileArchitecture(
        "qwen2_moe",
        lambda hparams, config: {**_all_full(hparams, config), **_shared_expert(hparams), "norm_topk_prob": False},
    ),
    "qwen3moe": FileArchitecture("qwen3_moe", lambda hparams, _: {**hparams.experts(), "norm_topk_prob": True}),
    "qwen35": FileArchitecture("qwen3_5_text", _qwen35, is_partial=True, any_heads=True),
    "qwen35moe": FileArchitecture(
        "qwen3_5_moe_text",
        lambda hparams, config: {**_qwen35(hparams, config), **_shared_expert(hparams)},
        is_partial=True,
        any_heads=True,
    ),
}
"""By the name in ``general.architecture``."""
