"""Small hybrids (LFM2, Qwen3.5), and their tensors and metadata as converters to GGUF write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from transformers import AutoConfig, AutoModelForCausalLM

from tests.gguf_format.models import SIZES, metadata_of, split_experts, trained, vocabulary

SETTINGS: dict[str, dict[str, Any]] = {
    "lfm2": {"model_type": "lfm2", "layer_types": ["conv", "full_attention", "conv", "conv"], "norm_eps": 1e-5},
    "qwen35": {
        "model_type": "qwen3_5_text",
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 6,
        "linear_conv_kernel_dim": 4,
    },
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 64}
SETTINGS["lfm2moe"] = {**SETTINGS["lfm2"], **EXPERTS, "model_type": "lfm2_moe", "num_dense_layers": 1}
SETTINGS["qwen35moe"] = {
    **SETTINGS["qwen35"],
    **EXPERTS,
    "model_type": "qwen3_5_moe_text",
    "shared_expert_intermediate_size": 32,
}
MIXTURES = ("lfm2moe", "qwen35moe")
NAMES = {
    "lfm2": {
        "embed_tokens": "token_embd",
        "embedding_norm": "token_embd_norm",
        "lm_head": "output",
        "operator_norm": "attn_norm",
        "ffn_norm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.out_proj": "attn_output",
        "self_attn.q_layernorm": "attn_q_norm",
        "self_attn.k_layernorm": "attn_k_norm",
        "feed_forward.w1": "ffn_gate",
        "feed_forward.w3": "ffn_up",
        "feed_forward.w2": "ffn_down",
        "conv.conv": "shortconv.conv",
        "conv.in_proj": "shortconv.in_proj",
        "conv.out_proj": "shortconv.out_proj",
    },
    "qwen35": {
        "embed_tokens": "token_embd",
        "norm": "output_norm",
        "lm_head": "output",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "post_attention_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "self_attn.q_norm": "attn_q_norm",
        "self_attn.k_norm": "attn_k_norm",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "linear_attn.in_proj_qkv": "attn_qkv",
        "linear_attn.in_proj_z": "attn_gate",
        "linear_attn.in_proj_a": "ssm_alpha",
        "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.conv1d": "ssm_conv1d",
        "linear_attn.norm": "ssm_norm",
        "linear_attn.out_proj": "ssm_out",
    },
}

NAMES["lfm2moe"] = NAMES["lfm2"] | {"feed_forward.gate": "ffn_gate_inp"}
NAMES["qwen35moe"] = NAMES["qwen35"] | {
    "mlp.gate": "ffn_gate_inp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
}


def model_of(architecture: str, **more: Any) -> Any:
    """A small hybrid with random weights, and norms that all differ."""
    settings = {"vocab_size": trained().get_vocab_size(), **SIZES, **SETTINGS[architecture], **more}
    settings["intermediate_size"] = 96
    if architecture == "lfm2":
        settings["block_auto_adjust_ff_dim"] = False
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(settings.pop("model_type"), **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1) if parameter.dim() == 1 else parameter.mul_(4)
        for name, tensor in model.state_dict().items():
            if name.endswith(("mlp.gate.weight", "feed_forward.gate.weight")):
                tensor.mul_(25)  # rounding would choose another expert of two with equal scores
            elif name.endswith("expert_bias"):
                tensor.normal_(0, 0.2)
    model.generation_config.eos_token_id = None
    return model


def tiled(array: Any, config: Any, before: int, size: int, axis: int = 0) -> Any:
    """An array whose value heads the converter reorders: the first heads of all keys first, behind other rows."""
    array = np.moveaxis(array, axis, 0)
    keys = config.linear_num_key_heads
    heads = array[before:].reshape(keys, -1, size, *array.shape[1:])
    moved = np.concatenate([array[:before], heads.swapaxes(0, 1).reshape(array[before:].shape)])
    return np.ascontiguousarray(np.moveaxis(moved, 0, axis))


def as_converted(architecture: str, name: str, array: Any, config: Any) -> Any:
    """A parameter as llama.cpp's converter writes it."""
    if name.endswith("A_log"):
        array = -np.exp(array)
    elif architecture.startswith("qwen35") and name.endswith("norm.weight") and "linear_attn" not in name:
        array = array + np.float32(1)
    elif array.ndim == 3:
        array = array[:, 0]
    part = name.partition(".linear_attn.")[2].removesuffix(".weight")
    if part in ("", "norm"):
        return array
    size, before = config.linear_value_head_dim, 2 * config.linear_num_key_heads * config.linear_key_head_dim
    if part == "out_proj":
        return tiled(array, config, 0, size, axis=1)
    if part in ("in_proj_qkv", "conv1d"):
        return tiled(array, config, before, size)
    return tiled(array, config, 0, size if part == "in_proj_z" else 1)


def tensors_of(architecture: str, model: Any, kind: str) -> dict[str, Any]:
    """A model's tensors as a file has them, matrices in a type."""
    found: dict[str, Any] = {}
    special = {"linear_attn.A_log": "ssm_a", "linear_attn.dt_bias": "ssm_dt.bias"}
    for name, parameter in model.named_parameters():
        local = name.removeprefix("model.")
        prefix = ""
        if local.startswith("layers."):
            _, index, local = local.split(".", 2)
            prefix = f"blk.{index}."
        module, _, suffix = local.rpartition(".")
        if module.endswith("experts"):
            # Fused in one kind of file, apart in the other.
            both = architecture == "qwen35moe" and suffix == "gate_up_proj"
            parts = {"gate_up": parameter.detach()} if both else split_experts(suffix, parameter.detach())
            for part, values in parts.items():
                found[f"{prefix}ffn_{part}_exps.weight"] = _quantised(values.numpy(), kind)
            continue
        if "gate" in module.split(".")[-1] and parameter.shape[0] in (1, 8):
            found[f"{prefix}{NAMES[architecture][module]}.weight"] = parameter.detach().numpy()
            continue
        array = as_converted(architecture, name, parameter.detach().numpy(), model.config)
        target = special.get(local) or f"{NAMES[architecture][module]}.{suffix}"
        if parameter.dim() != 2:
            found[prefix + target] = array
            continue
        found[prefix + target] = _quantised(array, kind)
    for name, buffer in model.named_buffers():
        if name.endswith("expert_bias"):
            found[f"blk.{name.split('.')[2]}.exp_probs_b.bias"] = buffer.numpy()
    return found


def _quantised(array: Any, kind: str) -> tuple[GGMLQuantizationType, Any]:
    return GGMLQuantizationType[kind], quants.quantize(array, GGMLQuantizationType[kind])


def metadata(architecture: str, model: Any) -> dict[str, Any]:
    config = model.config
    config.intermediate_size = getattr(config, "intermediate_size", 96)
    config.rms_norm_eps = getattr(config, "rms_norm_eps", 1e-5)
    config.head_dim = SIZES["head_dim"]
    shape = metadata_of(architecture, config)
    if architecture.startswith("lfm2"):
        heads = [2 * (kind == "full_attention") for kind in config.layer_types]
        more: dict[str, Any] = {"attention.head_count_kv": heads, "shortconv.l_cache": config.conv_L_cache}
    else:
        more = {
            "full_attention_interval": 4,
            "ssm.conv_kernel": config.linear_conv_kernel_dim,
            "ssm.state_size": config.linear_key_head_dim,
            "ssm.group_count": config.linear_num_key_heads,
            "ssm.time_step_rank": config.linear_num_value_heads,
            "ssm.inner_size": config.linear_value_head_dim * config.linear_num_value_heads,
            "rope.dimension_sections": [11, 11, 10, 0],
        }
    if architecture.endswith("moe"):
        more |= {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 64}
        more |= {"expert_shared_feed_forward_length": 32, "leading_dense_block_count": 1}
    return {**shape, **{f"{architecture}.{key}": value for key, value in more.items()}, **vocabulary()}
