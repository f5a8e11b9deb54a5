"""Names and layout of tensors: those that GGUF files give them, and those of transformers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from decoding.gguf.file import GgufFile
from decoding.gguf.header import GgufTensor
from decoding.gguf.hyperparameters import Hyperparameters
from decoding.gguf.metadata import GgufError, quoted
from decoding.native.architectures import ARCHITECTURES

EXPERT_BIAS, LAYER_SCALAR = "expert_bias", "layer_scalar"
"""The buffers that a file has tensors for; of the second, some have none."""
_MODULES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv",
    "mlp.gate_up_proj": "ffn_up",
    "mlp.gate": "ffn_gate_inp",
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp",
    "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp",
}
"""Names of tensors by those of modules; a layer's behind ``model.layers.N.`` and ``blk.N.``."""
_OTHERS = {
    "lfm2": {
        "model.embedding_norm": "token_embd_norm",
        "self_attn.out_proj": "attn_output",
        "conv.conv": "shortconv.conv",
        "conv.in_proj": "shortconv.in_proj",
        "conv.out_proj": "shortconv.out_proj",
    },
    "qwen3_5_text": {
        "post_attention_layernorm": "post_attention_norm",
        "linear_attn.in_proj_qkv": "attn_qkv",
        "linear_attn.in_proj_z": "attn_gate",
        "linear_attn.in_proj_a": "ssm_alpha",
        "linear_attn.in_proj_b": "ssm_beta",
        "linear_attn.conv1d": "ssm_conv1d",
        "linear_attn.norm": "ssm_norm",
        "linear_attn.out_proj": "ssm_out",
        "linear_attn.A_log": "ssm_a",
        "linear_attn.dt_bias": "ssm_dt.bias",
    },
}
"""The same for what other types have, by type; for some parameters, their whole names."""
_OTHERS["gemma4_text"] = {
    "model.embed_tokens_per_layer": "per_layer_token_embd",
    "model.per_layer_model_projection": "per_layer_model_proj",
    "model.per_layer_projection_norm": "per_layer_proj_norm",
    "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj",
    "post_per_layer_input_norm": "post_norm",
    LAYER_SCALAR: "layer_output_scale.weight",
    "router.proj": "ffn_gate_inp",
    "router.scale": "ffn_gate_inp.scale",
    "router.per_expert_scale": "ffn_down_exps.scale",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
    "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2",
}
_OTHERS["lfm2_moe"] = {
    **_OTHERS["lfm2"],
    "feed_forward.gate": "ffn_gate_inp",
    f"feed_forward.{EXPERT_BIAS}": "exp_probs_b.bias",
}
_OTHERS["qwen3_5_moe_text"] = _OTHERS["qwen3_5_text"]
_NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
"""A layer's norms, in the order of :class:`~decoding.native.architectures.Architecture`."""
ROTARY_FACTORS = "rope_freqs.weight"
"""Divisors of the rotary frequencies, one for each pair: how Llama 3 reaches longer texts."""


def tensor_name(parameter: str, model_type: str) -> str:
    """Return the name that a file has for a parameter of a model of this type."""
    names, prefix = _names(model_type), ""
    if parameter.startswith("model.layers."):
        _, _, layer, parameter = parameter.split(".", 3)
        prefix = f"blk.{layer}."
    if parameter in names:
        return prefix + names[parameter]
    module, _, kind = parameter.rpartition(".")
    return f"{prefix}{names[module]}.{kind}"


@lru_cache
def _names(model_type: str) -> dict[str, str]:
    architecture = ARCHITECTURES[model_type]
    gate, up, down = architecture.mlp
    of_mlp = {gate: "ffn_gate", up: "ffn_up"} if up else {gate: "ffn_up"}
    of_heads = zip(architecture.head_norms, ("attn_q_norm", "attn_k_norm"), strict=True)
    return {
        **_MODULES,
        **{norm: name for norm, name in zip(architecture.norms, _NORMS, strict=True) if norm},
        **{f"self_attn.{norm}": name for norm, name in of_heads},
        **{f"{architecture.mlp_name}.{layer}": name for layer, name in {**of_mlp, down: "ffn_down"}.items()},
        **_OTHERS.get(model_type, {}),
    }


def leftover_tensors(file: GgufFile, used: set[str], layers: int) -> Iterator[str]:
    """Yield the names of tensors that nothing uses and that would change what a model of so many layers says."""
    blocks = Hyperparameters(file).count("block_count")
    # Blocks of multi-token prediction, which guess and say nothing; frequencies that old files have.
    idle = tuple(f"blk.{block}." for block in range(layers, blocks)), (".attn_rot_embd.weight", ".rope_freqs")
    # Layers that share keys and values, too, of which a checkpoint may have layers that nobody uses.
    shared = range(max(0, layers - Hyperparameters(file).optional("attention.shared_kv_layers")), layers)
    unused = {f"blk.{block}.{part}.weight" for block in shared for part in ("attn_k", "attn_v", "attn_k_norm")}
    for name in file.tensors:
        known = name in used or name in unused or name == ROTARY_FACTORS
        if not (known or name.startswith(idle[0]) or name.endswith(idle[1])):
            yield name


def shape_in_file(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that a file has for a parameter of this shape: for a convolution, only channels and taps."""
    return (shape[0], shape[2]) if len(shape) == 3 else tuple(shape)


def pairs_apart(tensor: GgufTensor, parameter: str, config: Any) -> GgufTensor:
    """Return the tensor of a parameter with the rows in transformers' order; blocks stay as they are, rows move whole.

    Where a file has the pairs of a rotation side by side, transformers has them half a head apart.
    """
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(parameter.split(".")[-2])
    if heads is None:
        return tensor
    rows = tensor.blocks.reshape(tensor.shape[0], -1)
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return replace(tensor, blocks=pairs.swapaxes(1, 2).reshape(tensor.blocks.shape))


def grouped(tensor: GgufTensor, parameter: str, config: Any) -> GgufTensor:
    """Return a tensor whose rows are those of a delta rule's value heads in transformers' order; any other unchanged.

    A file has the first heads of all groups first, then the second ones; transformers has the heads of a group, which
    share a key, side by side.
    """
    _, _, name = parameter.partition(".linear_attn.")
    if not name or config.linear_num_value_heads == config.linear_num_key_heads:
        return tensor
    size = 1 if name in ("in_proj_a.weight", "in_proj_b.weight", "A_log", "dt_bias") else config.linear_value_head_dim
    if name in ("norm.weight", "out_proj.weight"):
        return tensor
    keys = config.linear_num_key_heads
    before = 2 * keys * config.linear_key_head_dim if name in ("in_proj_qkv.weight", "conv1d.weight") else 0
    rows = tensor.blocks.reshape(tensor.shape[0], -1).copy()
    heads = rows[before:].reshape(-1, keys, size, rows.shape[1])
    rows[before:] = heads.swapaxes(0, 1).reshape(-1, rows.shape[1])
    return replace(tensor, blocks=rows.reshape(tensor.blocks.shape))


def input_order(parameter: str, config: Any) -> torch.Tensor | None:
    """Return, for a layer that reads a delta rule's value heads in the file's order, the place of each of its inputs.

    Returns:
        Shape (in,), indices of inputs in transformers' order; None for any other layer, and where both are the same.
    """
    if not parameter.endswith(".linear_attn.out_proj.weight"):
        return None
    keys, heads = config.linear_num_key_heads, config.linear_num_value_heads
    if keys == heads:
        return None
    places = torch.arange(heads * config.linear_value_head_dim, device="cpu")
    return places.view(keys, heads // keys, -1).transpose(0, 1).reshape(-1)


def log_of_negative(values: torch.Tensor, name: str) -> torch.Tensor:
    """Return logarithms of values whose negatives the file holds."""
    if bool((values >= 0).any()):
        raise GgufError(f"tensor {quoted(name)} does not hold numbers below zero")
    return (-values).log()
