"""Checks before a GGUF file is loaded: that it is a language model, and that its numbers are finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from decoding.gguf.file import GgufFile
from decoding.gguf.header import GgufTensor
from decoding.gguf.metadata import GgufError, quoted
from decoding.gguf.tensor_types import TensorType

_EMBEDDING_ARCHITECTURES = {
    *("bert", "eurobert", "jina-bert-v2", "jina-bert-v3", "modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe"),
    *("gemma-embedding", "llama-embed", "t5encoder"),
}
_NUMBERS_AT_ONCE = 1 << 20
_EXPONENTS = {
    TensorType.F16: ("<u2", 0x7C00),
    TensorType.BF16: ("<u2", 0x7F80),
    TensorType.F32: ("<u4", 0x7F800000),
    TensorType.F64: ("<u8", 0x7FF0000000000000),
}
"""Integers that floating-point numbers are read as, and the bits that are all set in NaN and infinity only."""


def refusal(file: GgufFile) -> str | None:
    """Return why a file is not a model that writes text, such as "a vision projector"; None if it is one."""
    metadata, architecture = file.metadata, file.metadata.text("general.architecture", None)
    kind = metadata.text("general.type", None)
    if kind == "mmproj" or architecture == "clip":
        return "it is a vision projector (mmproj), the part of a model that reads pictures"
    if kind == "adapter" or "adapter.type" in metadata:
        return "it is an adapter (LoRA) for another model"
    if architecture is None:
        return "it names no architecture"
    # A file that pools its outputs into one vector, or that reads texts in both directions, writes none.
    if architecture in _EMBEDDING_ARCHITECTURES or metadata.integer(f"{architecture}.pooling_type", 0) > 0:
        return f"it is an embedding model ({architecture}), which writes no text"
    if metadata.flag(f"{architecture}.attention.causal", True) is False:
        return f"its model ({architecture}) does not write from left to right"
    return None if file.tensors else "it holds no tensors"


def check_language_model(file: GgufFile) -> None:
    """Raise GgufError unless a file is a model that writes text."""
    reason = refusal(file)
    if reason is not None:
        raise GgufError(f"{file.path} cannot be run: {reason}")


def check_finite(tensor: GgufTensor) -> None:
    """Raise GgufError for NaN or infinity among a tensor's numbers, or among the scales of its blocks."""
    kind = tensor.type
    flat = tensor.blocks.reshape(-1)
    offsets = (0,) if kind.is_float else kind.scale_offsets
    dtype, exponent = _EXPONENTS[kind if kind.is_float else TensorType.F16]
    count = flat.size // kind.block_bytes
    for offset in offsets:
        numbers: np.ndarray[Any, Any] = np.ndarray((count,), dtype, flat, offset, (kind.block_bytes,))
        for start in range(0, count, _NUMBERS_AT_ONCE):
            some = numbers[start : start + _NUMBERS_AT_ONCE]
            if (np.bitwise_and(some, exponent) == exponent).any():
                raise GgufError(f"tensor {quoted(tensor.name)} holds numbers that are not finite")
