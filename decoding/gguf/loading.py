"""Loads a GGUF file: a transformers model with the file's weights, and its tokenizer."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from transformers import GenerationConfig, PreTrainedTokenizerFast

from decoding.gguf.configuration import read_config
from decoding.gguf.file import GgufFile, check_language_model
from decoding.gguf.metadata import GgufError, quoted
from decoding.gguf.packed_architectures import PACKED_ARCHITECTURES
from decoding.gguf.tensor_names import (
    EXPERT_BIAS,
    LAYER_SCALAR,
    ROTARY_FACTORS,
    grouped,
    leftover_tensors,
    pairs_apart,
    shape_in_file,
    tensor_name,
)
from decoding.gguf.tensor_types import TensorType
from decoding.gguf.tokenizer import build_tokenizer
from decoding.gguf.unpacked_architectures import load_unpacked
from decoding.gguf.vocabulary import Vocabulary
from decoding.gguf.weights import dequantize, find_tensor, put_experts, put_tensor
from decoding.native.architectures import ARCHITECTURES
from decoding.native.kernels import native_kernels
from decoding.native.skeleton import SKELETON_TYPES, PlainConfig, Skeleton
from decoding.native.weight_memory import WeightMemory
from decoding.quantization.int8 import Notify, RowEmbedding
from decoding.quantization.narrow import NarrowLinear
from decoding.quantization.packed import PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def load_gguf(
    path: str | PathLike[str] | GgufFile, *, on_tensor: Notify | None = None
) -> tuple[PreTrainedModel, PreTrainedTokenizerFast]:
    """Load a model and its tokenizer from a GGUF file.

    Args:
        path: the file, of a split one its first part; or the opened file.
        on_tensor: called with the number of tensors read and that of all.

    Returns:
        The model, in eval mode on the CPU, whose generation config has all tokens that end a reply; and the tokenizer,
        with the file's chat template if it has one.

    Raises:
        GgufError: one line, for a broken file, one that is no language model, and one that is not supported.
        OSError: if the file cannot be opened.
    """
    model, tokenizer = load_skeleton(path, on_tensor=on_tensor)
    return (model.to_transformers() if isinstance(model, Skeleton) else model), tokenizer


def load_skeleton(
    path: str | PathLike[str] | GgufFile, *, on_tensor: Notify | None = None
) -> tuple[PreTrainedModel | Skeleton, PreTrainedTokenizerFast]:
    """Load as :func:`load_gguf`, but leave the model a skeleton if its steps run in C without transformers' classes."""
    try:
        file = path if isinstance(path, GgufFile) else GgufFile.open(path)
    except OSError as error:
        raise type(error)(f"{path} cannot be opened ({error.strerror}): pass the path of a .gguf file") from error
    check_language_model(file)
    try:
        vocabulary = Vocabulary.read(file.metadata)
        tokenizer = build_tokenizer(file.metadata, vocabulary)
        model = _read_model(file, on_tensor)
    except GgufError as error:
        raise GgufError(f"{file.path} cannot be loaded: {error}") from error
    tokenizer.model_max_length = model.config.max_position_embeddings
    special = {f"{role}_token_id": vocabulary.roles.get(role) for role in ("bos", "pad")}
    model.generation_config = GenerationConfig(eos_token_id=list(vocabulary.endings) or None, **special)
    return model, tokenizer


def _read_model(file: GgufFile, on_tensor: Notify | None) -> Any:
    """Build the model without memory, and put the file's weights in one by one."""
    if file.architecture not in PACKED_ARCHITECTURES:
        return load_unpacked(file)
    config = read_config(file)
    model = _empty(config)
    _compute_frequencies(model, file)
    buffers = ((name, buffer) for name, buffer in model.named_buffers() if name.endswith((EXPERT_BIAS, LAYER_SCALAR)))
    shapes = {name: tensor.shape for name, tensor in [*model.named_parameters(), *buffers]}
    kernels, memory = native_kernels(), WeightMemory()
    used, offset = set(), ARCHITECTURES[config.model_type].norm_offset
    # Weights of two bits leave many near ties: rounding their inputs to 8 bits would change one token of twenty.
    finely = any(tensor.type == TensorType.Q2_K for tensor in file.tensors.values())
    for done, (name, shape) in enumerate(shapes.items(), 1):
        if (experts := name.removesuffix(".gate_up_proj")).endswith(".experts"):
            used |= put_experts(model, experts, file, kernels, memory, finely=finely)
            continue
        if name.endswith(".experts.down_proj"):
            continue
        if name.endswith(LAYER_SCALAR) and tensor_name(name, config.model_type) not in file.tensors:
            setattr(model.get_submodule(name.rpartition(".")[0]), LAYER_SCALAR, torch.ones(shape))
            continue
        tensor = find_tensor(file, tensor_name(name, config.model_type), shape_in_file(shape))
        interleaved = PACKED_ARCHITECTURES[file.architecture].has_adjacent_pairs
        values = pairs_apart(tensor, name, config) if interleaved else grouped(tensor, name, config)
        put_tensor(model, name, values, kernels, memory, finely=finely)
        used.add(tensor.name)
        file.release()
        if on_tensor is not None:
            on_tensor(done, len(shapes))
    for module in model.modules():
        if offset and type(module).__name__.endswith("RMSNorm"):
            module.weight -= offset  # which the converter adds
    _tie(model)
    for name in leftover_tensors(file, used, config.num_hidden_layers):
        raise GgufError(f"it has a tensor {quoted(name)}, which is not known for {file.architecture} models")
    return model


def _empty(config: PlainConfig) -> Any:
    """Return a model of this configuration without memory."""
    with torch.device("meta"):
        if config.model_type in SKELETON_TYPES and config.rope_parameters["rope_type"] == "default":
            return Skeleton(config)
        from transformers import AutoConfig, AutoModelForCausalLM

        theirs = AutoConfig.for_model(**config.to_dict())
        model: Any = AutoModelForCausalLM.from_config(theirs, dtype=torch.float32).eval()
    for embedding in model.modules():
        if hasattr(embedding, "scalar_embed_scale"):
            embedding.embed_scale = torch.tensor(embedding.scalar_embed_scale)
    return model


def _tie(model: Any) -> None:
    """Give the output layer the embedding's weight, if the model's architecture says so."""
    embedding = model.get_input_embeddings()
    if not isinstance(embedding, PackedEmbedding | RowEmbedding):
        model.tie_weights()
    elif model.config.tie_word_embeddings:
        packed: Any = getattr(embedding, "packed", None)
        head = NarrowLinear(embedding.get_buffer("weight")) if packed is None else PackedLinear(packed)
        model.set_output_embeddings(head)


def _compute_frequencies(model: nn.Module, file: GgufFile) -> None:
    """Compute rotary frequencies, the only values of a model that are not in the file's tensors."""
    factors = file.tensors.get(ROTARY_FACTORS)
    rotary: Any
    for name, rotary in list(model.named_modules()):
        if "Rotary" not in type(rotary).__name__:
            continue
        computed = type(rotary)(rotary.config)
        if factors is not None:
            # Where layers of each type have frequencies of their own, those of full attention are divided.
            name_of_own = next((own for own in ("inv_freq", "full_attention_inv_freq") if hasattr(computed, own)), None)
            if name_of_own is None:
                raise GgufError(f"it has a tensor {quoted(ROTARY_FACTORS)}, and frequencies of another kind")
            frequencies = getattr(computed, name_of_own)
            find_tensor(file, ROTARY_FACTORS, frequencies.shape)
            if factors.type != TensorType.F32 or (factors.blocks.view("<f4") <= 0).any():
                raise GgufError(f"tensor {quoted(ROTARY_FACTORS)} does not hold factors above zero")
            frequencies /= dequantize(factors)
            getattr(computed, name_of_own.replace("inv_freq", "original_inv_freq")).copy_(frequencies)
        model.set_submodule(name, computed)
