"""Architectures whose GGUF files are read here: their configuration, and the tensors that make up their weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np

from decoding.gguf.errors import GgufError, quoted
from decoding.gguf.file import GgufFile, GgufTensor
from decoding.gguf.metadata import Metadata
from decoding.native.skeleton import PlainConfig

_MODULES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Names of tensors by those of modules; a layer's behind ``model.layers.N.`` and ``blk.N.``."""
ROTARY_FACTORS = "rope_freqs.weight"
"""By which rotary frequencies are divided, one for each pair: Llama 3's way to longer texts."""


ARCHITECTURES: Mapping[str, bool] = {"llama": True, "qwen2": False, "qwen3": False, "smollm3": True}
"""By the name in ``general.architecture``, which is transformers' too: whether a file has the pairs of a rotation side
by side."""
_SCALING = ("type", "factor", "original_context_length", "finetuned")
"""Entries of ``rope.scaling`` that are followed, or change nothing."""
_OLD_FACTOR = "rope.scale_linear"
"""The factor's name in files of 2023."""


def read_config(file: GgufFile) -> PlainConfig:
    """Return the configuration of a file of one of ARCHITECTURES.

    Raises:
        GgufError: if the metadata lacks something, contradicts itself, or describes what is not supported.
    """
    shape = _Shape(file)
    heads, kv_heads = (
        shape.count("attention.head_count"),
        shape.count("attention.head_count_kv", "attention.head_count"),
    )
    width = shape.count("embedding_length")
    head_size = shape.optional("attention.key_length") or width // heads
    if heads % kv_heads or width % heads or head_size % 2 or not head_size:
        raise GgufError(
            f"its metadata has {heads} heads of {head_size} with {kv_heads} heads of keys, for a width of {width}"
        )
    for name in ("attention.value_length", "rope.dimension_count"):
        if (shape.optional(name) or head_size) != head_size:
            raise GgufError(f"its metadata has a {name} of {shape.optional(name)} for heads of {head_size}")
    if shape.optional("expert_count"):
        raise GgufError(f"its layers have experts, which are not supported in {file.architecture} files")
    theta = shape.positive("rope.freq_base", 10_000.0)
    layers = _layers(shape, file)
    # Llama's configuration has no such entry.
    by_layer: dict[str, Any] = {} if file.architecture == "llama" else {"layer_types": ["full_attention"] * layers}
    if file.architecture == "smollm3":
        by_layer["no_rope_layers"] = [int(layer % 4 != 3) for layer in range(layers)]
    return PlainConfig(
        model_type=file.architecture,
        hidden_act="silu",
        **by_layer,
        vocab_size=_vocabulary_size(file),
        hidden_size=width,
        intermediate_size=shape.count("feed_forward_length"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_size,
        max_position_embeddings=shape.count("context_length"),
        rms_norm_eps=shape.positive("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_theta": theta, **_rope_scaling(shape, file)},
        tie_word_embeddings="output.weight" not in file.tensors,
        attention_bias="blk.0.attn_output.bias" in file.tensors,
        mlp_bias="blk.0.ffn_gate.bias" in file.tensors,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )


def tensor_name(parameter: str) -> str:
    """Return the name that a file has for a model's parameter."""
    module, _, kind = parameter.rpartition(".")
    if module.startswith("model.layers."):
        _, _, layer, module = module.split(".", 3)
        return f"blk.{layer}.{_MODULES[module]}.{kind}"
    return f"{_MODULES[module]}.{kind}"


def in_order(tensor: GgufTensor, parameter: str, config: Any) -> GgufTensor:
    """Return the tensor of a parameter with the rows in transformers' order; blocks stay as they are, rows move whole.

    Where a file has the pairs of a rotation side by side, transformers has them half a head apart.
    """
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}.get(parameter.split(".")[-2])
    if heads is None:
        return tensor
    rows = tensor.blocks.reshape(tensor.shape[0], -1)
    pairs = rows.reshape(heads, -1, 2, rows.shape[1])
    return replace(tensor, blocks=pairs.swapaxes(1, 2).reshape(tensor.blocks.shape))


class _Shape:
    """Numbers of the metadata that describe the model."""

    def __init__(self, file: GgufFile) -> None:
        self._metadata: Metadata = file.metadata
        self._prefix = file.architecture

    def optional(self, name: str) -> int:
        """Return a count, 0 without one. One for each layer counts if all are the same."""
        key = f"{self._prefix}.{name}"
        found = self._metadata.get(key)
        if isinstance(found, np.ndarray) and found.size and found.dtype.kind in "iu":
            if (found != found[0]).any():
                raise GgufError(f"its layers differ in their {quoted(key)}, which is not supported")
            return int(found[0])
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


def _layers(shape: _Shape, file: GgufFile) -> int:
    """Return the number of layers, which the file has tensors for: the model is built before its weights are read."""
    layers = shape.count("block_count")
    if layers > len(file.tensors):
        raise GgufError(f"its metadata has {layers:,} layers, and it holds {len(file.tensors):,} tensors")
    return layers


def _vocabulary_size(file: GgufFile) -> int:
    tokens = len(file.metadata.texts("tokenizer.ggml.tokens"))
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise GgufError("it has no tensor 'token_embd.weight'")
    if len(embedding.shape) != 2 or embedding.shape[0] != tokens:
        raise GgufError(f"its vocabulary has {tokens:,} tokens, and its embedding {embedding.shape[0]:,} rows")
    return tokens


def scaling_type(metadata: Metadata, architecture: str) -> str:
    """Return the name of the way in which positions are scaled: ``linear`` where a file has only a factor."""
    has_factor = any(f"{architecture}.{key}" in metadata for key in ("rope.scaling.factor", _OLD_FACTOR))
    return metadata.text(f"{architecture}.rope.scaling.type", "linear" if has_factor else "none")


def _rope_scaling(shape: _Shape, file: GgufFile) -> dict[str, Any]:
    kind = scaling_type(file.metadata, file.architecture)
    if kind == "none":
        return {"rope_type": "default"}
    prefix = f"{file.architecture}.rope.scaling."
    for key in file.metadata:
        if key.startswith(prefix) and key.removeprefix(prefix) not in _SCALING:
            raise GgufError(f"its positions are scaled by {quoted(key)}, which is not supported")
    factor = "rope.scaling.factor" if f"{prefix}factor" in file.metadata else _OLD_FACTOR
    if kind == "linear":
        return {"rope_type": "linear", "factor": shape.positive(factor)}
    if kind == "yarn":
        return {
            "rope_type": "yarn",
            "factor": shape.positive(factor),
            "original_max_position_embeddings": shape.count("rope.scaling.original_context_length", "context_length"),
        }
    raise GgufError(f"its positions are scaled by {quoted(kind)}, which is not supported")


def leftover_tensors(file: GgufFile, used: set[str]) -> Iterator[str]:
    """Yield the names of tensors that nothing uses and that would change what the model says."""
    for name in file.tensors:
        # Frequencies that old files have, which follow from the metadata.
        if name not in used and name != ROTARY_FACTORS and not name.endswith((".attn_rot_embd.weight", ".rope_freqs")):
            yield name
