"""The configuration of a GGUF file's model, as transformers has it, from the file's metadata."""

from __future__ import annotations

from typing import Any

from decoding.gguf.file import GgufFile
from decoding.gguf.hyperparameters import Hyperparameters
from decoding.gguf.metadata import GgufError, Metadata, quoted
from decoding.gguf.packed_architectures import PACKED_ARCHITECTURES
from decoding.native.skeleton import PlainConfig

_SCALING = ("type", "factor", "original_context_length", "finetuned")
"""Entries of ``rope.scaling`` that are followed, or change nothing."""
_MAX_HEAD_SIZE = 1 << 16
"""Rotary frequencies are computed before a tensor tells if a head is that wide."""
_OLD_FACTOR = "rope.scale_linear"
"""The factor's name in files of 2023."""


def read_config(file: GgufFile) -> PlainConfig:
    """Return the configuration of a file of one of PACKED_ARCHITECTURES. Raises GgufError for what is not supported."""
    kind = PACKED_ARCHITECTURES[file.architecture]
    hparams = Hyperparameters(file, vary=kind.has_varied_layers, missing=kind.missing)
    heads, width = hparams.count("attention.head_count"), hparams.count("embedding_length")
    kv_heads = hparams.count("attention.head_count_kv", "attention.head_count")
    head_size = hparams.optional("attention.key_length") or width // heads
    is_odd = head_size % 2 or not 0 < head_size <= _MAX_HEAD_SIZE
    if heads % kv_heads or (width % heads and not kind.any_heads) or is_odd:
        raise GgufError(
            f"its metadata has {heads} heads of {head_size} with {kv_heads} heads of keys, for a width of {width}"
        )
    for name in ("attention.value_length", "rope.dimension_count"):
        found = hparams.optional(name) or head_size
        may_be_less = kind.is_partial and name == "rope.dimension_count"
        if found > head_size or (found < head_size and not may_be_less):
            raise GgufError(f"its metadata has a {name} of {found} for heads of {head_size}")
    layers = hparams.count("block_count")
    if layers > len(file.tensors):  # the model is built before its weights are read
        raise GgufError(f"its metadata has {layers:,} layers, and it holds {len(file.tensors):,} tensors")
    theta = hparams.positive("rope.freq_base", 10_000.0)
    rope = {"rope_theta": theta, **_rope_scaling(hparams, file)}
    if kind.is_partial:
        rope["partial_rotary_factor"] = (hparams.optional("rope.dimension_count") or head_size) / head_size
    config = PlainConfig(
        model_type=kind.model_type,
        hidden_act="silu",
        vocab_size=_vocabulary_size(file),
        hidden_size=width,
        intermediate_size=hparams.count("feed_forward_length", "expert_feed_forward_length"),
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_size,
        max_position_embeddings=hparams.count("context_length"),
        rms_norm_eps=hparams.positive(kind.epsilon),
        rope_parameters=rope,
        tie_word_embeddings="output.weight" not in file.tensors,
        attention_bias=f"blk.0.{kind.biased}.bias" in file.tensors,
        mlp_bias="blk.0.ffn_gate.bias" in file.tensors,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )
    for name, value in kind.settings(hparams, config).items():
        setattr(config, name, value)
    if hparams.optional("expert_count") and not hasattr(config, "num_experts_per_tok"):
        raise GgufError(f"its layers have experts, which are not supported in {file.architecture} files")
    return config


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


def _rope_scaling(hparams: Hyperparameters, file: GgufFile) -> dict[str, Any]:
    kind = scaling_type(file.metadata, file.architecture)
    if kind == "none":
        return {"rope_type": "default"}
    prefix = f"{file.architecture}.rope.scaling."
    for key in file.metadata:
        if key.startswith(prefix) and key.removeprefix(prefix) not in _SCALING:
            raise GgufError(f"its positions are scaled by {quoted(key)}, which is not supported")
    factor = "rope.scaling.factor" if f"{prefix}factor" in file.metadata else _OLD_FACTOR
    if kind == "linear":
        return {"rope_type": "linear", "factor": hparams.positive(factor)}
    if kind == "yarn":
        return {
            "rope_type": "yarn",
            "rope_theta": hparams.number("rope.freq_base", 10_000.0, above=1.0),  # it is divided by its logarithm
            "factor": hparams.positive(factor),
            "original_max_position_embeddings": hparams.count("rope.scaling.original_context_length", "context_length"),
        }
    raise GgufError(f"its positions are scaled by {quoted(kind)}, which is not supported")
