"""Architectures whose GGUF files are read here: their configuration, and the names of their tensors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from decoding.gguf.file import GgufFile
from decoding.gguf.file_architectures import FILE_ARCHITECTURES, Shape
from decoding.gguf.metadata import GgufError, Metadata, quoted
from decoding.native.architectures import ARCHITECTURES
from decoding.native.skeleton import PlainConfig

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
}
"""Names of tensors by those of modules; a layer's behind ``model.layers.N.`` and ``blk.N.``."""
_RECURRENT = {
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
"""The same of models with recurrent layers, by type; of two parameters the whole names."""
_NORMS = ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
"""A layer's norms, in the order of :class:`~decoding.native.architectures.Architecture`."""
ROTARY_FACTORS = "rope_freqs.weight"
"""By which rotary frequencies are divided, one for each pair: Llama 3's way to longer texts."""
_SCALING = ("type", "factor", "original_context_length", "finetuned")
"""Entries of ``rope.scaling`` that are followed, or change nothing."""
_OLD_FACTOR = "rope.scale_linear"
"""The factor's name in files of 2023."""


def read_config(file: GgufFile) -> PlainConfig:
    """Return the configuration of a file of one of FILE_ARCHITECTURES.

    Raises:
        GgufError: if the metadata lacks something, contradicts itself, or describes what is not supported.
    """
    shape, kind = Shape(file), FILE_ARCHITECTURES[file.architecture]
    heads, kv_heads = (
        shape.count("attention.head_count"),
        shape.count("attention.head_count_kv", "attention.head_count"),
    )
    width = shape.count("embedding_length")
    head_size = shape.optional("attention.key_length") or width // heads
    if heads % kv_heads or (width % heads and not kind.any_heads) or head_size % 2 or not head_size:
        raise GgufError(
            f"its metadata has {heads} heads of {head_size} with {kv_heads} heads of keys, for a width of {width}"
        )
    for name in ("attention.value_length", *(() if kind.is_partial else ("rope.dimension_count",))):
        if (shape.optional(name) or head_size) != head_size:
            raise GgufError(f"its metadata has a {name} of {shape.optional(name)} for heads of {head_size}")
    if shape.optional("expert_count"):
        raise GgufError(f"its layers have experts, which are not supported in {file.architecture} files")
    theta = shape.positive("rope.freq_base", 10_000.0)
    rope = {"rope_theta": theta, **_rope_scaling(shape, file)}
    if kind.is_partial:
        rope["partial_rotary_factor"] = (shape.optional("rope.dimension_count") or head_size) / head_size
    config = PlainConfig(
        model_type=kind.model_type,
        hidden_act="silu",
        vocab_size=_vocabulary_size(file),
        hidden_size=width,
        intermediate_size=shape.count("feed_forward_length"),
        num_hidden_layers=_layers(shape, file),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=head_size,
        max_position_embeddings=shape.count("context_length"),
        rms_norm_eps=shape.positive(kind.epsilon),
        rope_parameters=rope,
        tie_word_embeddings="output.weight" not in file.tensors,
        attention_bias=f"blk.0.{kind.biased}.bias" in file.tensors,
        mlp_bias="blk.0.ffn_gate.bias" in file.tensors,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
    )
    for name, value in kind.settings(shape, config).items():
        setattr(config, name, value)
    return config


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
        **_RECURRENT.get(model_type, {}),
    }


def _layers(shape: Shape, file: GgufFile) -> int:
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


def _rope_scaling(shape: Shape, file: GgufFile) -> dict[str, Any]:
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


def leftover_tensors(file: GgufFile, used: set[str], layers: int) -> Iterator[str]:
    """Yield the names of tensors that nothing uses and that would change what a model of so many layers says."""
    blocks = Shape(file).count("block_count")
    # Blocks of multi-token prediction, which guess and say nothing; frequencies that old files have.
    idle = tuple(f"blk.{block}." for block in range(layers, blocks)), (".attn_rot_embd.weight", ".rope_freqs")
    for name in file.tensors:
        if name not in used and name != ROTARY_FACTORS and not (name.startswith(idle[0]) or name.endswith(idle[1])):
            yield name
