"""Files of hybrids (LFM2, Qwen3.5): transformers' logits, steps in C, and what they lack told by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, quants
from transformers import AutoConfig, AutoModelForCausalLM

from decoding import AutoregressiveDecoder, load_gguf, native_support
from decoding.gguf.metadata import GgufError
from decoding.native.kernels import native_kernels
from decoding.quantization.packed import Packed
from tests.costs import NEARLY_FREE, budgeted
from tests.gguf_format.files import write
from tests.gguf_format.models import SIZES, metadata_of, split_experts, trained, vocabulary
from tests.models import tokens_of

TEXT = [5, 17, 80, 3, 200, 41, 41, 7, 99, 250, 12, 64] * 3
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


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = model(torch.tensor([TEXT])).logits
        return found


@pytest.mark.parametrize("kind", ["F32", "BF16", "Q8_0", "Q4_1"])
@pytest.mark.parametrize("name", ["lfm2", "lfm2 tied", "qwen35", "qwen35, a value head for each key", *MIXTURES])
def test_logits_are_those_of_the_same_weights_in_transformers(name: str, kind: str, tmp_path: Path) -> None:
    architecture = name.replace(",", "").split()[0]
    more: dict[str, Any] = {"tie_word_embeddings": "tied" in name}
    if "each key" in name:
        more |= {"linear_num_value_heads": 2}
    model = model_of(architecture, **more)
    tensors = tensors_of(architecture, model, kind)
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata(architecture, model), tensors, architecture))
    if kind != "F32":  # the rounded weights, from a file that holds them in float32
        rounded = {
            key: quants.dequantize(value[1], value[0]) if isinstance(value, tuple) else value
            for key, value in tensors.items()
        }
        model, _ = load_gguf(write(tmp_path / "same.gguf", metadata(architecture, model), rounded, architecture))
    found, expected = logits(loaded), logits(model)
    if kind in ("BF16", "Q8_0", "Q4_1"):  # products round activations, to bfloat16 or, where packed, to int8
        # The median: where a router's scores are nearly equal, rounding chooses another expert.
        assert (found - expected).square().mean(-1).sqrt().median() < 0.15 * expected.std()
        if native_kernels() is not None and kind != "BF16":
            assert sum(isinstance(module, Packed) for module in loaded.modules()) > 10
    else:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("architecture", SETTINGS)
def test_packed_steps_run_in_c_and_on_and_off_agree_bit_for_bit(architecture: str, tmp_path: Path) -> None:
    if native_kernels() is None:
        pytest.skip("no C compiler here")
    model = model_of(architecture, tie_word_embeddings=False)
    tensors = tensors_of(architecture, model, "Q8_0")
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata(architecture, model), tensors, architecture))
    assert native_support(loaded).supported, native_support(loaded).reason
    plain = tokens_of(AutoregressiveDecoder(loaded).generate(TEXT, max_new_tokens=30))
    assert tokens_of(budgeted(loaded, NEARLY_FREE).generate(TEXT, max_new_tokens=30)) == plain


def test_experts_in_float32_do_not_meet_other_activations_in_c(tmp_path: Path) -> None:
    model = model_of("lfm2moe", tie_word_embeddings=False)
    path = write(tmp_path / "model.gguf", metadata("lfm2moe", model), tensors_of("lfm2moe", model, "F32"), "lfm2moe")
    loaded, _ = load_gguf(path)
    expected = logits(loaded)
    if native_kernels() is not None:
        assert native_support(loaded).supported
        assert "patched" in str(native_support(loaded.bfloat16()).reason)
    assert (logits(loaded.bfloat16()).float() - expected).square().mean(-1).sqrt().median() < 0.1 * expected.std()


def test_blocks_of_multi_token_prediction_are_left_out(tmp_path: Path) -> None:
    model = model_of("qwen35", tie_word_embeddings=False)
    more = {"qwen35.block_count": 5, "qwen35.nextn_predict_layers": 1}
    tensors = {**tensors_of("qwen35", model, "F32"), "blk.4.nextn.enorm.weight": np.ones(64, np.float32)}
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", {**metadata("qwen35", model), **more}, tensors, "qwen35"))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("architecture", "missing", "told"),
    [
        ("lfm2", "lfm2.shortconv.l_cache", "'lfm2.shortconv.l_cache'"),
        ("lfm2", "blk.0.shortconv.conv.weight", "no tensor 'blk.0.shortconv.conv.weight'"),
        ("qwen35", "qwen35.ssm.time_step_rank", "'qwen35.ssm.time_step_rank'"),
        ("qwen35", "qwen35.ssm.conv_kernel", "'qwen35.ssm.conv_kernel'"),
        ("qwen35", "blk.1.ssm_a", "no tensor 'blk.1.ssm_a'"),
        ("qwen35", "blk.2.ssm_dt.bias", "no tensor 'blk.2.ssm_dt.bias'"),
    ],
)
def test_what_a_file_lacks_is_told_by_name(architecture: str, missing: str, told: str, tmp_path: Path) -> None:
    model = model_of(architecture)
    entries, tensors = metadata(architecture, model), tensors_of(architecture, model, "F32")
    entries.pop(missing, None)
    tensors.pop(missing, None)
    with pytest.raises(GgufError, match=told):
        load_gguf(write(tmp_path / "model.gguf", entries, tensors, architecture))


def test_layers_and_numbers_that_contradict_the_architecture_are_told(tmp_path: Path) -> None:
    model = model_of("lfm2")
    entries, tensors = metadata("lfm2", model), tensors_of("lfm2", model, "F32")
    with pytest.raises(GgufError, match=r"no 'lfm2.attention.head_count_kv' for each of its layers"):
        load_gguf(write(tmp_path / "a.gguf", {**entries, "lfm2.attention.head_count_kv": 2}, tensors, "lfm2"))
    model = model_of("qwen35")
    tensors = tensors_of("qwen35", model, "F32")
    tensors["blk.0.ssm_a"] = np.abs(tensors["blk.0.ssm_a"])
    with pytest.raises(GgufError, match=r"'blk.0.ssm_a' does not hold numbers below zero"):
        load_gguf(write(tmp_path / "b.gguf", metadata("qwen35", model), tensors, "qwen35"))
