"""Reads a checkpoint's weights into a model, in a number format that fits, or says why that cannot be."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from lade_chat.errors import ModelError, OutOfMemoryError, does_not_fit, is_out_of_memory, summary
from lade_chat.loading.checkpoint import CONFIG, Weights
from lade_chat.loading.precision import choose_dtype, memory_bytes

if TYPE_CHECKING:
    import torch

_STORED = {"BF16": "bfloat16", "F16": "float16", "F32": "float32", "F64": "float64"}
"""torch's names for the formats of safetensors that a model can run in."""


def dtype_for(
    weights: Weights, config: Any, requested: torch.dtype | None, device: torch.device, *, what: str
) -> torch.dtype:
    """The dtype to load in (see ``choose_dtype``). Raises OutOfMemoryError if it takes more than all of the memory."""
    import torch

    stored = getattr(config, "dtype", None) or _STORED.get(weights.dtype or "", "float32")
    stored = getattr(torch, stored) if isinstance(stored, str) else stored
    dtype = choose_dtype(requested, device, stored, weights.parameters)
    needed, memory = weights.parameters * dtype.itemsize, memory_bytes()
    if quantisation(config) is not None:
        # Quantised numbers stay as they are stored.
        needed = sum(file.stat().st_size for file in weights.files)
    # A CPU short of memory does not raise: the system ends the process.
    if device.type == "cpu" and memory is not None and needed > memory:
        figures = (
            f"It needs {needed / 1e9:.1f} GB in {str(dtype).removeprefix('torch.')}; there are {memory / 1e9:.1f} GB."
        )
        raise OutOfMemoryError(f"{does_not_fit(what)} {figures}")
    return dtype


def quantisation(config: Any) -> str | None:
    """The name of the method that the checkpoint's weights are quantised with; None if they are not."""
    told = getattr(config, "quantization_config", None)
    if told is None:
        return None
    method = told.get("quant_method") if isinstance(told, dict) else getattr(told, "quant_method", None)
    return str(getattr(method, "value", method) or "a method that it does not name")


def read_weights(
    folder: Path,
    config: Any,
    weights: Weights,
    dtype: torch.dtype,
    *,
    trust_remote_code: bool,
    placement: Mapping[str, Any] | None = None,
) -> tuple[Any, str | None]:
    """The model in eval mode, on the CPU or where ``placement`` says, and a notice about tensors that it cannot use.

    Raises ModelError if a tensor is missing or has another shape (transformers would fill it with random numbers), or
    if what it is quantised with is not installed.
    """
    from transformers import AutoModelForCausalLM

    try:
        model: Any
        found: dict[str, Any]
        model, found = AutoModelForCausalLM.from_pretrained(  # type: ignore[misc]
            folder,
            config=config,
            dtype=dtype,
            trust_remote_code=trust_remote_code,
            local_files_only=True,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **(placement or {}),
        )
    except ImportError as error:
        method = quantisation(config)
        if method is None:
            raise
        raise ModelError(
            f"{folder} is quantised with {method}, and what reads that is not installed ({summary(error, 80)}):"
            f" pip install {method}."
        ) from error
    except (RuntimeError, OSError, EOFError, UnpicklingError) as error:
        if not weights.pickled or is_out_of_memory(error):
            raise
        raise ModelError(f"{weights.files[0]} is no pickle of tensors, or cut short ({summary(error, 80)}).") from error
    mismatched = sorted(name for name, *_ in found["mismatched_keys"])
    for problem, names in (("have other shapes", mismatched), ("are missing", sorted(found["missing_keys"]))):
        if names:
            raise ModelError(
                f"The weights in {folder} do not fit its {CONFIG}: {len(names)} tensors {problem} ({names[0]} first)."
            )
    unused = sorted(found["unexpected_keys"])
    notice = (
        f"{len(unused)} tensors of the checkpoint are not used by the model ({unused[0]} first)." if unused else None
    )
    return model.eval(), notice
