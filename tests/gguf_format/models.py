"""Small models with random weights, and the GGUF files that llama.cpp's converter would make of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM

from tests.gguf_format.files import write

TEXT = torch.tensor([[5, 17, 80, 3, 200, 41, 41, 7, 99, 250, 12, 64] * 3])
NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "q_proj": "attn_q",
    "k_proj": "attn_k",
    "v_proj": "attn_v",
    "o_proj": "attn_output",
    "q_norm": "attn_q_norm",
    "k_norm": "attn_k_norm",
    "gate_proj": "ffn_gate",
    "up_proj": "ffn_up",
    "down_proj": "ffn_down",
}
SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
OTHER_NAMES: dict[str, dict[str, str]] = {
    "phi3": {"qkv_proj": "attn_qkv", "gate_up_proj": "ffn_up"},
    "olmo2": {"post_attention_layernorm": "post_attention_norm", "post_feedforward_layernorm": "post_ffw_norm"},
    "starcoder2": {"c_fc": "ffn_up", "c_proj": "ffn_down"},
    "glm4": {
        "post_self_attn_layernorm": "post_attention_norm",
        "post_mlp_layernorm": "post_ffw_norm",
        "gate_up_proj": "ffn_up",
    },
    "hunyuan-dense": {"query_layernorm": "attn_q_norm", "key_layernorm": "attn_k_norm"},
}
for _mixture in ("llama", "olmoe", "qwen2moe", "qwen3moe"):
    OTHER_NAMES[_mixture] = {"gate": "ffn_gate_inp", "shared_expert_gate": "ffn_gate_inp_shexp"}
OTHER_NAMES["exaone4"] = OTHER_NAMES["olmo2"]
OTHER_NAMES["gemma2"] = OTHER_NAMES["gemma3"] = OTHER_NAMES["olmo2"] | {"pre_feedforward_layernorm": "ffn_norm"}
MODEL_TYPES = {"gemma3": "gemma3_text", "hunyuan-dense": "hunyuan_v1_dense"}
"""transformers' names, where they are not llama.cpp's."""
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
CORPUS = ["the quick brown fox jumps over the lazy dog", "def add(a, b):\n    return a + b\n", "1 2 3 4 55 666"] * 8
DIGITS = r"\p{N}"
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@lru_cache
def trained(pattern: str = DIGITS, use_regex: bool = True) -> Tokenizer:
    """A byte-level tokenizer, trained on a little text: split by a pattern, then as GPT-2 does."""
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, to_bytes])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=300, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
        ),
    )
    return tokenizer


def vocabulary(tokenizer: Tokenizer | None = None, pre: str = "smollm") -> dict[str, Any]:
    """The metadata that tells of a byte-level tokenizer."""
    tokenizer = tokenizer or trained()
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=lambda token: ids[token])
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in SPECIAL else 1 for token in tokens],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in merges],
        "tokenizer.ggml.bos_token_id": ids[SPECIAL[0]],
        "tokenizer.ggml.eos_token_id": ids[SPECIAL[0]],
        "tokenizer.chat_template": TEMPLATE,
    }


def small_model(architecture: str, **settings: Any) -> Any:
    """A model with random weights, of as many tokens as the trained tokenizer has."""
    model_type = settings.pop("model_type", MODEL_TYPES.get(architecture, architecture))
    sizes = {"vocab_size": trained().get_vocab_size(), **SIZES, **settings}
    config = AutoConfig.for_model(model_type, **sizes)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("norm.weight", ".bias")):
                parameter.add_(torch.randn_like(parameter) * 0.1)
            else:
                # Scores of experts far apart: rounding would choose another one of equal ones.
                parameter.mul_(100 if name.endswith("mlp.gate.weight") else 4)
    return model


def metadata_of(architecture: str, config: Any) -> dict[str, Any]:
    """The metadata that describes a model."""
    rope = config.rope_parameters
    rotated = config.head_dim * rope.get("partial_rotary_factor", 1.0)
    shape = {
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "block_count": config.num_hidden_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_attention_heads,
        "attention.head_count_kv": config.num_key_value_heads,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "attention.layer_norm_rms_epsilon": float(config.rms_norm_eps),
        "attention.layer_norm_epsilon": float(config.rms_norm_eps),
        "rope.freq_base": float(rope.get("full_attention", rope)["rope_theta"]),
        "rope.dimension_count": int(rotated),
    }
    return {f"{architecture}.{key}": value for key, value in shape.items()}


def tensors_of(
    architecture: str, model: Any, kind: str = "F32", renamed: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A model's tensors as a file has them: matrices in a type, and the model's own weights rounded to it."""
    names = {**NAMES, **OTHER_NAMES.get(architecture, {}), **(renamed or {})}
    found: dict[str, Any] = {}
    quantised = GGMLQuantizationType[kind]
    for name, parameter in model.named_parameters():
        parts = name.removeprefix("model.").split(".")
        layer = f"blk.{parts[1]}." if parts[0] == "layers" else ""
        array = parameter.detach().numpy()
        if parts[-2] == "experts":
            for part, values in split_experts(parts[-1], parameter.detach()).items():
                blocks = quants.quantize(values.numpy(), quantised)
                values.copy_(torch.from_numpy(quants.dequantize(blocks, quantised)))
                found[f"{layer}ffn_{part}_exps.weight"] = (quantised, values.numpy())
            continue
        if parts[-2] in ("gate", "shared_expert_gate"):
            packed: Any = array
        elif array.ndim == 1:
            shift = 1.0 if architecture.startswith("gemma") else 0.0
            packed = _interleaved(architecture, parts[-2], array + np.float32(shift), model.config)
        else:
            blocks = quants.quantize(array, quantised)
            parameter.data.copy_(torch.from_numpy(quants.dequantize(blocks, quantised)))
            packed = (quantised, _interleaved(architecture, parts[-2], parameter.detach().numpy(), model.config))
        shared = "_shexp" if "shared_expert" in parts else ""
        found[f"{layer}{names[parts[-2]]}{shared}.{parts[-1]}"] = packed
    return found


def split_experts(name: str, weights: torch.Tensor) -> dict[str, torch.Tensor]:
    """Views of the weights of all experts, by the names of a file's tensors."""
    if name == "down_proj":
        return {"down": weights}
    return dict(zip(("gate", "up"), weights.chunk(2, dim=1), strict=True))


def write_model(
    path: Path, architecture: str, model: Any, *, kind: str = "F32", more: Mapping[str, Any] | None = None
) -> Path:
    """Write a model, whose own weights are rounded to the type; ``more`` metadata replaces or, if None, removes."""
    metadata = {**metadata_of(architecture, model.config), **vocabulary(), **(more or {})}
    kept = {key: value for key, value in metadata.items() if value is not None}
    return write(path, kept, tensors_of(architecture, model, kind), architecture)


def _interleaved(architecture: str, module: str, array: Any, config: Any) -> Any:
    """Rows as the converter orders those of queries and keys: halves of a head side by side."""
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(module)
    if heads is None or architecture not in ("llama", "smollm3", "granite"):
        return array
    halves = array.reshape(heads, 2, config.head_dim // 2, *array.shape[1:])
    return halves.swapaxes(1, 2).reshape(array.shape).copy()


def logits(model: Any) -> torch.Tensor:
    """What a model says of a text."""
    with torch.inference_mode():
        found: torch.Tensor = model(TEXT).logits
        return found
