"""GGUF files of other architectures: unpacked to bfloat16 by transformers, where it can read them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch

from decoding.gguf.configuration import scaling_type
from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError, quoted
from decoding.gguf.packed_architectures import PACKED_ARCHITECTURES

UNPACKED_ARCHITECTURES = ("bloom", "deci", "falcon", "gpt-oss", "gpt2", "mamba", "minimax-m2", "nemotron", "stablelm")
"""Those that transformers reads, by llama.cpp's names."""


def unpacked_bytes(file: GgufFile) -> int:
    """Return the memory of a file's unpacked weights; 0 if they stay packed. Raises GgufError if not supported."""
    if file.architecture in PACKED_ARCHITECTURES:
        return 0
    if file.architecture not in UNPACKED_ARCHITECTURES:
        raise GgufError(f"its architecture {quoted(file.architecture)} is not supported")
    if find_spec("accelerate") is None:
        raise GgufError(f"{file.architecture} models need accelerate: pip install accelerate")
    parts = file.metadata.integer("split.count", 1)
    if parts > 1:
        raise GgufError(
            f"files of the architecture {file.architecture} are read only in one file, not in {parts} parts"
        )
    return file.parameters * torch.bfloat16.itemsize


def load_unpacked(file: GgufFile) -> Any:
    """Load a model with all its weights in bfloat16. Raises as :func:`unpacked_bytes`."""
    from transformers import AutoModelForCausalLM, GgufConfig

    unpacked_bytes(file)
    # transformers ignores these, although they change the model's answers.
    scaling = "none" if file.architecture == "gpt-oss" else scaling_type(file.metadata, file.architecture)
    if scaling != "none" or any(name.startswith(("rope_freqs.", "rope_factors_")) for name in file.tensors):
        raise GgufError("transformers does not read how its positions are scaled")
    for tensor in file.tensors.values():
        tensor.check_finite()
    name = file.path.name
    made: Any
    try:
        made = AutoModelForCausalLM.from_pretrained(
            file.path.parent,
            gguf_file=name,
            dtype=torch.bfloat16,
            local_files_only=True,
            output_loading_info=True,
            quantization_config=GgufConfig(gguf_file=name, dequantize=True),
        )
    except Exception as error:  # transformers passes on whatever its parts raise
        if "ignore_mismatched_sizes" in str(error):
            raise GgufError("its tensors have other sizes than transformers makes of its metadata") from error
        raise GgufError(f"transformers cannot read it ({' '.join(str(error).split())})") from error
    model, loaded = made
    if loaded["missing_keys"]:  # these weights are drawn at random
        raise GgufError(f"it has no tensor for {quoted(min(loaded['missing_keys']))}")
    _check_frequencies(file, model.config)
    vars(model.config).pop("quantization_config", None)
    return model


def _check_frequencies(file: GgufFile, config: Any) -> None:
    declared = file.metadata.number(f"{file.architecture}.rope.freq_base", None)
    rope = getattr(config, "rope_parameters", None) or {}
    by_layer = [rope, *(each for each in rope.values() if isinstance(each, dict))]
    known = [each["rope_theta"] for each in by_layer if "rope_theta" in each]
    if declared is not None and known and declared not in known:
        raise GgufError(f"transformers does not read its rotary base of {declared:g}")
