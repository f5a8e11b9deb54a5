"""Architectures of GGUF files whose weights stay packed: transformers' model type, and the settings of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError, Metadata, quoted
from decoding.native.skeleton import PlainConfig


class Hyperparameters:
    """Numbers of the metadata that describe the model; llama.cpp calls them hparams."""

    def __init__(self, file: GgufFile) -> None:
        self._metadata: Metadata = file.metadata
        self._prefix = file.architecture

    def optional(self, name: str) -> int:
        """Return a count, 0 if it is missing. Counts by layer have to be equal, but for zeros."""
        key = f"{self._prefix}.{name}"
        found = self._metadata.get(key)
        if isinstance(found, np.ndarray) and found.size and found.dtype.kind in "iu":
            if ((found != found.max()) & (found != 0)).any():
                raise GgufError(f"its layers differ in their {quoted(key)}, which is not supported")
            return int(found.max())
        return self._metadata.integer(key, 0)

    def count(self, *names: str) -> int:
        """Return the first count that is there."""
        found = next(filter(None, map(self.optional, names)), 0)
        if not 0 < found < 2**31:
            raise GgufError(f"its metadata has {found or 'no'} {quoted(f'{self._prefix}.{names[0]}')}")
        return found

    def positive(self, name: str, *default: float) -> float:
        """Return a finite number above zero."""
        found = self._metadata.number(f"{self._prefix}.{name}", *default)
        if not (isfinite(found) and found > 0):
            raise GgufError(f"its metadata has a {quoted(f'{self._prefix}.{name}')} of {found}")
        return found

    def number(self, name: str, default: float) -> float:
        """Return a finite number, which may be 0."""
        found = self._metadata.number(f"{self._prefix}.{name}", default)
        if not isfinite(found):
            raise GgufError(f"its metadata has a {quoted(f'{self._prefix}.{name}')} of {found}")
        return found

    def has_each(self, name: str, layers: int) -> list[bool]:
        """Return for each layer whether its count is above 0."""
        found = self._metadata.get(f"{self._prefix}.{name}")
        if not isinstance(found, np.ndarray) or found.shape != (layers,):
            raise GgufError(f"its metadata has no {quoted(f'{self._prefix}.{name}')} for each of its layers")
        return [bool(each) for each in found]

    def layer_types(self, layers: int, period: int) -> list[str]:
        """Return each layer's type; some may have a sliding window.

        Args:
            layers: the number of layers.
            period: the last of every so many layers attends to all tokens, unless the file says otherwise.
        """
        found = self._metadata.get(f"{self._prefix}.attention.sliding_window_pattern")
        if isinstance(found, np.ndarray | list) and len(found) == layers:
            slides = [bool(each) for each in found]
        else:
            period = self.optional("attention.sliding_window_pattern") or period
            slides = [(layer + 1) % period != 0 for layer in range(layers)]
        if not self.optional("attention.sliding_window"):
            slides = [False] * layers
        return ["sliding_attention" if each else "full_attention" for each in slides]

    def experts(self, gating: int = 1) -> dict[str, Any]:
        """Return the settings of layers with experts.

        Args:
            gating: how their scores are made, as llama.cpp numbers it: 1 by a softmax, 2 by sigmoids.
        """
        count, used = self.count("expert_count"), self.count("expert_used_count")
        if used > count:
            raise GgufError(f"its metadata has {used} experts for a token, of {count}")
        if (self.optional("expert_gating_func") or gating) != gating:
            raise GgufError("the scores of its experts are made in a way that is not supported")
        inner = self.count("expert_feed_forward_length", "feed_forward_length")
        return {"num_experts": count, "num_experts_per_tok": used, "moe_intermediate_size": inner}


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
    kinds = hparams.layer_types(config.num_hidden_layers, 4)
    return {"model_type": "olmo3", **_window(hparams), "layer_types": kinds, **_two_ropes(config, None)}


def _gemma(_: Hyperparameters, __: PlainConfig) -> dict[str, Any]:
    return {"hidden_act": "gelu_pytorch_tanh"}


def _gemma2(hparams: Hyperparameters, config: PlainConfig, period: int = 2, largest: int = 46) -> dict[str, Any]:
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        **_window(hparams),
        "layer_types": hparams.layer_types(layers, period),
        # That follows from the number of layers alone.
        "query_pre_attn_scalar": config.hidden_size // heads if layers == largest else config.head_dim,
        "attn_logit_softcapping": hparams.number("attn_logit_softcapping", 0.0) or None,
        "final_logit_softcapping": hparams.number("final_logit_softcapping", 0.0) or None,
    }


def _gemma3(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    ropes = _two_ropes(config, hparams.positive("rope.freq_base_swa", 10_000.0))
    return {**_gemma2(hparams, config, period=6, largest=62), **ropes}


def _starcoder2(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    shared = {"hidden_act": "gelu_pytorch_tanh", "use_bias": config.attention_bias}
    return {**shared, **_window(hparams), "norm_epsilon": config.rms_norm_eps}


def _cohere2(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    kinds = hparams.layer_types(config.num_hidden_layers, 4)
    scale = hparams.positive("logit_scale", 1.0)
    return {**_window(hparams), "layer_types": kinds, "logit_scale": scale, "layer_norm_eps": config.rms_norm_eps}


def _exaone4(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {**_window(hparams), "layer_types": hparams.layer_types(config.num_hidden_layers, 4)}


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
    layers = config.num_hidden_layers - hparams.optional("nextn_predict_layers")
    return {
        "num_hidden_layers": layers,
        "layer_types": ["linear_attention" if (at + 1) % period else "full_attention" for at in range(layers)],
        "linear_conv_kernel_dim": hparams.count("ssm.conv_kernel"),
        "linear_key_head_dim": hparams.count("ssm.state_size"),
        "linear_value_head_dim": values // heads,
        "linear_num_key_heads": keys,
        "linear_num_value_heads": heads,
    }


def _qwen2moe(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {**_all_full(hparams, config), **hparams.experts(), **_shared_expert(hparams), "norm_topk_prob": False}


def _qwen3moe(hparams: Hyperparameters, _: PlainConfig) -> dict[str, Any]:
    return {**hparams.experts(), "norm_topk_prob": True}


def _qwen35moe(hparams: Hyperparameters, config: PlainConfig) -> dict[str, Any]:
    return {**_qwen35(hparams, config), **hparams.experts(), **_shared_expert(hparams)}


def _olmoe(hparams: Hyperparameters, _: PlainConfig) -> dict[str, Any]:
    limit = hparams.number("attention.clamp_kqv", 0.0) or None
    return {**hparams.experts(), "norm_topk_prob": False, "clip_qkv": limit}


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
    return {
        "shared_expert_intermediate_size": hparams.count("expert_shared_feed_forward_length", "feed_forward_length")
    }


def _none(_: Hyperparameters, __: PlainConfig) -> dict[str, Any]:
    return {}


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
    """

    model_type: str
    settings: SettingsOf = _none
    has_adjacent_pairs: bool = False
    is_partial: bool = False
    any_heads: bool = False
    epsilon: str = "attention.layer_norm_rms_epsilon"
    biased: str = "attn_output"


_CENTRED = "attention.layer_norm_epsilon"

FILE_ARCHITECTURES: Mapping[str, FileArchitecture] = {
    "llama": FileArchitecture("llama", _llama, has_adjacent_pairs=True),
    "qwen2": FileArchitecture("qwen2", _all_full),
    "qwen3": FileArchitecture("qwen3", _all_full),
    "smollm3": FileArchitecture("smollm3", _smollm3, has_adjacent_pairs=True),
    "phi3": FileArchitecture("phi3", _phi3, is_partial=True),
    "granite": FileArchitecture("granite", _granite, has_adjacent_pairs=True),
    "olmo2": FileArchitecture("olmo2", _olmo2),
    "gemma": FileArchitecture("gemma", _gemma),
    "gemma2": FileArchitecture("gemma2", _gemma2),
    "gemma3": FileArchitecture("gemma3_text", _gemma3),
    "starcoder2": FileArchitecture("starcoder2", _starcoder2, epsilon=_CENTRED),
    "cohere2": FileArchitecture("cohere2", _cohere2, epsilon=_CENTRED),
    "exaone4": FileArchitecture("exaone4", _exaone4),
    "glm4": FileArchitecture("glm4", is_partial=True, biased="attn_q"),
    "hunyuan-dense": FileArchitecture("hunyuan_v1_dense"),
    "lfm2": FileArchitecture("lfm2", _lfm2),
    "lfm2moe": FileArchitecture("lfm2_moe", _lfm2moe),
    "olmoe": FileArchitecture("olmoe", _olmoe),
    "qwen2moe": FileArchitecture("qwen2_moe", _qwen2moe),
    "qwen3moe": FileArchitecture("qwen3_moe", _qwen3moe),
    "qwen35": FileArchitecture("qwen3_5_text", _qwen35, is_partial=True, any_heads=True),
    "qwen35moe": FileArchitecture("qwen3_5_moe_text", _qwen35moe, is_partial=True, any_heads=True),
}
"""By the name in ``general.architecture``."""
