"""Checkpoints that are stored quantised: their method, and the packages that transformers wants for it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES: Mapping[str, tuple[str, ...]] = {
    "aqlm": ("aqlm[cpu]", "accelerate"),
    "auto-round": ("auto-round",),
    "awq": ("gptqmodel", "accelerate"),
    "bitnet": ("accelerate",),
    "bitsandbytes": ("bitsandbytes", "accelerate"),
    "bitsandbytes_4bit": ("bitsandbytes", "accelerate"),
    "bitsandbytes_8bit": ("bitsandbytes", "accelerate"),
    "eetq": ("kernels", "accelerate"),
    "fp8": ("accelerate",),
    "gptq": ("optimum", "gptqmodel"),
    "higgs": ("flute-kernel", "fast_hadamard_transform", "accelerate"),
    "mxfp4": ("kernels", "accelerate"),
    "quanto": ("optimum-quanto", "accelerate"),
    "spqr": ("spqr_quant[gpu]", "accelerate"),
    "vptq": ("vptq", "accelerate"),
}
"""By method; that of any other has its name."""


def quantisation(config: Any) -> str | None:
    """Name of the checkpoint's quantisation method, if any."""
    declared = getattr(config, "quantization_config", None)
    if declared is None:
        return None
    method = declared.get("quant_method") if isinstance(declared, dict) else getattr(declared, "quant_method", None)
    return str(getattr(method, "value", method) or "a method that it does not name")


def missing_packages(method: str) -> tuple[str, ...]:
    """Return the packages that a quantisation method needs and that are not installed."""
    return tuple(package for package in _PACKAGES.get(method, (method,)) if not _is_installed(package))


def _is_installed(package: str) -> bool:
    try:
        version(package.partition("[")[0])
    except (PackageNotFoundError, ValueError):
        return False
    return True
