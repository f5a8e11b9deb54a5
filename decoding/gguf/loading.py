"""Loads a GGUF file: a transformers model with the file's weights, and its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from transformers import GenerationConfig, PreTrainedTokenizerFast

from decoding.gguf.configuration import read_config
from decoding.gguf.file import GgufFile, check_language_model
from decoding.gguf.header import GgufTensor
from decoding.gguf.metadata import GgufError, quoted
from decoding.gguf.packed_architectures import PACKED_ARCHITECTURES
from decoding.gguf.tensor_names import (
    EXPERT_BIAS,
    LAYER_SCALAR,
    ROTARY_FACTORS,
    grouped,
    input_order,
    leftover_tensors,
    log_of_negative,
    pairs_apart,
    shape_in_file,
    tensor_name,
)
from decoding.gguf.tensor_types import TensorType
from decoding.gguf.tokenizer import build_tokenizer
from decoding.gguf.unpacked_architectures import load_unpacked
from decoding.gguf.vocabulary import Vocabulary
from decoding.native.architectures import ARCHITECTURES
from decoding.native.kernels import NativeKernels, native_kernels
from decoding.native.packed_weight import GROUP, PackedWeight, Packing
from decoding.native.skeleton import SKELETON_TYPES, PlainConfig, Skeleton
from decoding.native.weight_memory import WeightMemory, copy_for_products
from decoding.quantization.file_experts import ExpertWeights, FileExperts
from decoding.quantization.int8 import Notify, RowEmbedding
from decoding.quantization.narrow import NarrowLinear
from decoding.quantization.packed import FINE, PackedEmbedding, PackedLinear

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_PACKINGS = frozenset(int(packing) for packing in Packing)
_BYTES_AT_ONCE = 1 << 24
_NARROW = {TensorType.BF16: torch.bfloat16, TensorType.F16: torch.float16}


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
            used |= _put_experts(model, experts, file, kernels, memory, finely=finely)
            continue
        if name.endswith(".experts.down_proj"):
            continue
        if name.endswith(LAYER_SCALAR) and tensor_name(name, config.model_type) not in file.tensors:
            setattr(model.get_submodule(name.rpartition(".")[0]), LAYER_SCALAR, torch.ones(shape))
            continue
        tensor = _find(file, tensor_name(name, config.model_type), shape_in_file(shape))
        interleaved = PACKED_ARCHITECTURES[file.architecture].has_adjacent_pairs
        values = pairs_apart(tensor, name, config) if interleaved else grouped(tensor, name, config)
        _put(model, name, values, kernels, memory, finely=finely)
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


def _find(file: GgufFile, name: str, shape: Sequence[int]) -> GgufTensor:
    tensor = file.tensors.get(name)
    if tensor is None:
        raise GgufError(f"it has no tensor {quoted(name)}")
    if tensor.shape != tuple(shape) and (1, *tensor.shape) != tuple(shape):
        found, wanted = (" × ".join(map(str, sizes)) for sizes in (tensor.shape, shape))
        raise GgufError(f"tensor {quoted(name)} is of {found}, and its metadata says {wanted}")
    tensor.check_finite()
    return tensor


def _put(
    model: Any,
    name: str,
    tensor: GgufTensor,
    kernels: NativeKernels | None,
    memory: WeightMemory,
    *,
    finely: bool,
) -> None:
    """Make a tensor a parameter of a model, by the parameter's name; both have the same shape.

    A quantised matrix stays packed, in a module that takes the place of the parameter's, and one in 16 bits as it is;
    without kernels in C a quantised one is unpacked.
    """
    module, _, kind = name.rpartition(".")
    owner: Any = model.get_submodule(module)
    order = input_order(name, model.config)
    if isinstance(owner, PackedLinear | NarrowLinear):
        owner.bias = _dequantize(tensor)
    elif tensor.type in _NARROW and isinstance(owner, nn.Linear | nn.Embedding):
        narrow = _in_input_order(_in_16_bits(tensor), order)
        is_layer = type(owner) is nn.Linear
        tiles = is_layer and kernels is not None and kernels.tiles
        narrow = copy_for_products(narrow, memory, tiles=tiles, dtype=narrow.dtype)
        made = NarrowLinear(narrow) if is_layer else RowEmbedding(narrow, torch.float32, _scale(owner))
        model.set_submodule(module, made)
    elif kernels is None or tensor.type not in _PACKINGS or not isinstance(owner, nn.Linear | nn.Embedding):
        values = log_of_negative(_dequantize(tensor), tensor.name) if kind == "A_log" else _dequantize(tensor)
        values = _in_input_order(values, order).view(getattr(owner, kind).shape)
        setattr(owner, kind, values if kind in owner._buffers else nn.Parameter(values, requires_grad=False))
    else:
        blocks = torch.from_numpy(tensor.blocks.copy())
        is_fine = finely or module.endswith(FINE)
        shape = len(tensor.blocks), tensor.shape[-1]
        weight = PackedWeight(kernels, Packing(tensor.type), blocks, shape, is_fine=is_fine, memory=memory)
        is_layer = type(owner) is nn.Linear
        packed = PackedLinear(weight, order=order) if is_layer else PackedEmbedding(weight, _scale(owner))
        model.set_submodule(module, packed)


def _put_experts(
    model: Any, module: str, file: GgufFile, kernels: NativeKernels | None, memory: WeightMemory, *, finely: bool
) -> set[str]:
    """Replace transformers' module of a layer's experts by one with the file's tensors; returns their names."""
    experts: Any = model.get_submodule(module)
    count, width, inner = experts.down_proj.shape
    used, layer = set(), module.split(".")[2]

    def weight_of(part: str, outputs: int, inputs: int) -> PackedWeight | torch.Tensor:
        tensor = _find(file, f"blk.{layer}.ffn_{part}_exps.weight", (count, outputs, inputs))
        used.add(tensor.name)
        if kernels is not None and tensor.type in _PACKINGS and not outputs % GROUP:
            blocks, shape = torch.from_numpy(tensor.blocks.copy()), (count * outputs, inputs)
            return PackedWeight(kernels, Packing(tensor.type), blocks, shape, is_fine=finely, memory=memory)
        return _in_16_bits(tensor) if tensor.type in _NARROW else _dequantize(tensor).view(-1, inputs)

    if f"blk.{layer}.ffn_gate_up_exps.weight" in file.tensors:
        both = weight_of("gate_up", 2 * inner, width)
        gate, up = (ExpertWeights(both, inner, first, 2 * inner) for first in (0, inner))
    else:
        gate, up = (ExpertWeights(weight_of(part, inner, width), inner, 0, inner) for part in ("gate", "up"))
    down = ExpertWeights(weight_of("down", width, inner), width, 0, width)
    model.set_submodule(module, FileExperts(count, gate, up, down, experts.act_fn))
    file.release()
    return used


@np.errstate(over="ignore", invalid="ignore")  # told once all numbers are there
def _dequantize(tensor: GgufTensor) -> torch.Tensor:
    """Return a tensor's numbers as float32, of its shape. Raises GgufError if they cannot be, or are not finite."""
    if tensor.type == TensorType.F32:
        return torch.from_numpy(tensor.blocks.copy()).view(torch.float32).view(tensor.shape)
    from gguf import GGMLQuantizationType, quants  # this import takes longer than reading a model's norms

    unpacked = torch.empty(tensor.shape, dtype=torch.float32)
    rows = unpacked.view(-1, tensor.shape[-1]).numpy()
    at_once = max(1, _BYTES_AT_ONCE // tensor.blocks.shape[1])
    for start in range(0, len(rows), at_once):
        some = tensor.blocks[start : start + at_once]
        try:
            rows[start : start + at_once] = quants.dequantize(some, GGMLQuantizationType(int(tensor.type)))
        except NotImplementedError:
            told = f"tensor {quoted(tensor.name)} is of the type {tensor.type.name}, which is not supported"
            raise GgufError(told) from None
    if not tensor.type.is_float and not tensor.type.scale_offsets and not unpacked.isfinite().all():
        raise GgufError(f"tensor {quoted(tensor.name)} holds numbers that are not finite")  # that no scale tells of
    return unpacked


def _in_16_bits(tensor: GgufTensor) -> torch.Tensor:
    """Return a tensor's bfloat16 or float16 numbers, shape (rows, in)."""
    return torch.from_numpy(tensor.blocks.copy()).view(_NARROW[tensor.type])


def _in_input_order(weight: torch.Tensor, order: torch.Tensor | None) -> torch.Tensor:
    """Return a weight with its columns in the order of its inputs."""
    return weight if order is None else torch.empty_like(weight).index_copy_(1, order, weight)


def _scale(embedding: Any) -> float:
    """Return the factor by which an embedding multiplies its rows."""
    return float(getattr(embedding, "embed_scale", 1.0))


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
            _find(file, ROTARY_FACTORS, frequencies.shape)
            if factors.type != TensorType.F32 or (factors.blocks.view("<f4") <= 0).any():
                raise GgufError(f"tensor {quoted(ROTARY_FACTORS)} does not hold factors above zero")
            frequencies /= _dequantize(factors)
            getattr(computed, name_of_own.replace("inv_freq", "original_inv_freq")).copy_(frequencies)
        model.set_submodule(name, computed)
