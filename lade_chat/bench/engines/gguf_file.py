"""Writes a Llama- or Qwen2-like checkpoint as GGUF, for engines that are given token ids.

The file names no tokenizer: prompts and replies are compared as ids, so any checkpoint's will do. Source of the
format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import check_weights

TYPES = {"float32": "F32", "bfloat16": "BF16", "float16": "F16", "int8": "Q8_0"}
"""GGUF's names of the dtypes that matrices are written in."""


def write_gguf(checkpoint: Path, config: Any, file: Path, dtype: str) -> None:
    """Write all weights, one in memory at a time; norms and biases in float32.

    Args:
        config: the checkpoint's transformers configuration.
        dtype: of :data:`TYPES`.

    Raises:
        LadeChatError: the architecture is another, or the dtype has no counterpart.
        ImportError: the ``gguf`` package is not installed.
    """
    import gguf

    kind = config.model_type
    rope = getattr(config, "rope_parameters", None) or {}
    if kind not in ("llama", "qwen2") or rope.get("rope_type", "default") != "default" or dtype not in TYPES:
        raise LadeChatError(f"only plain Llama and Qwen2 models are written as GGUF, in {', '.join(TYPES)}")
    writer = gguf.GGUFWriter(file, kind)
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(width)
    writer.add_value_length(width)
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(rope.get("rope_theta", 10000.0))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map(getattr(gguf.MODEL_ARCH, kind.upper()), config.num_hidden_layers)
    for name, tensor in _tensors(checkpoint, config):
        target = names.get_name(name, try_suffixes=(".weight", ".bias"))
        if target is None:
            raise LadeChatError(f"GGUF has no place for {name}")
        matrix = tensor.dim() > 1
        array, raw = _array(tensor, TYPES[dtype] if matrix else "F32")
        writer.add_tensor(target, array, raw_dtype=raw)
    # The file is written once all tensors are known; those read here are mapped, not held.
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(checkpoint: Path, config: Any) -> Iterator[tuple[str, Any]]:
    """Yield the checkpoint's tensors in llama.cpp's order of rotary pairs."""
    from safetensors import safe_open

    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for file in check_weights(checkpoint, allow_pickle=False).files:
        with safe_open(file, framework="pt") as stored:
            for name in stored.keys():  # noqa: SIM118 (not a mapping)
                if name == "lm_head.weight" and config.tie_word_embeddings:
                    continue
                tensor = stored.get_tensor(name)
                projection = name.split(".")[-2]
                if config.model_type == "llama" and projection in heads:
                    # Llama's pairs stand side by side in GGUF, and half a head apart in transformers.
                    halves = tensor.reshape(heads[projection], 2, -1, *tensor.shape[1:])
                    tensor = halves.swapaxes(1, 2).reshape(tensor.shape)
                yield name, tensor


def _array(tensor: Any, kind: str) -> tuple[Any, Any]:
    """Return a tensor as an array of GGUF's, and its type there if that is not the array's own."""
    import gguf
    import torch

    if kind == "BF16":
        return tensor.to(torch.bfloat16).contiguous().view(torch.uint8).numpy(), gguf.GGMLQuantizationType.BF16
    if kind == "Q8_0":
        return gguf.quants.quantize(tensor.float().numpy(), gguf.GGMLQuantizationType.Q8_0), (
            gguf.GGMLQuantizationType.Q8_0
        )
    return tensor.to(torch.float16 if kind == "F16" else torch.float32).contiguous().numpy(), None
