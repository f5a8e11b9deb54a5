"""GGUF files of other architectures: unpacked to bfloat16 by transformers, where it can read them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GgufConfig

from decoding.gguf.architecture import ARCHITECTURES
from decoding.gguf.errors import GgufError, quoted
from decoding.gguf.file import GgufFile
from decoding.gguf.soundness import check_finite

UNPACKED_ARCHITECTURES = (
    "bloom",
    "deci",
    "falcon",
    "gemma2",
    "gemma3",
    "gemma4",
    "gpt-oss",
    "gpt2",
    "lfm2",
    "mamba",
    "minimax-m2",
    "nemotron",
    "phi3",
    "qwen2moe",
    "qwen35",
    "qwen35moe",
    "qwen3moe",
    "stablelm",
    "starcoder2",
)
"""Those that transformers reads, by llama.cpp's names."""


def unpacked_bytes(file: GgufFile) -> int:
    """Return the memory that a file's unpacked weights will take; 0 for an architecture whose weights stay packed.

    Raises:
        GgufError: if the architecture is not supported, or a package is missing.
    """
    if file.architecture in ARCHITECTURES:
        return 0
    if file.architecture not in UNPACKED_ARCHITECTURES:
        raise GgufError(f"its architecture {quoted(file.architecture)} is not supported")
    if find_spec("accelerate") is None:
        raise GgufError(f"files of the architecture {file.architecture} need accelerate: pip install accelerate")
    if file.metadata.integer("split.count", 1) > 1:
        raise GgufError(f"files of the architecture {file.architecture} are not read in parts")
    return file.parameters * torch.bfloat16.itemsize


def load_unpacked(file: GgufFile) -> Any:
    """Load a model with all its weights in bfloat16. Raises as :func:`unpacked_bytes`."""
    unpacked_bytes(file)
    for tensor in file.tensors.values():
        check_finite(tensor)
    name = file.path.name
    try:
        model = AutoModelForCausalLM.from_pretrained(
            file.path.parent,
            gguf_file=name,
            dtype=torch.bfloat16,
            local_files_only=True,
            quantization_config=GgufConfig(gguf_file=name, dequantize=True),
        )
    except Exception as error:  # transformers passes on whatever its parts raise
        raise GgufError(f"transformers cannot read it ({' '.join(str(error).split())})") from error
    del model.config.quantization_config
    return model
