"""Names of the precisions that can be asked for, checked without importing torch."""

from __future__ import annotations

from lade_chat.errors import DeviceError
from lade_chat.protocol.values import QUANTISATIONS, quantisation_named

DTYPES = {
    "float32": "float32",
    "bfloat16": "bfloat16",
    "float16": "float16",
    "float64": "float64",
    "fp32": "float32",
    "bf16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "fp64": "float64",
    "float": "float32",
    "double": "float64",
}
"""Accepted names of dtypes, and torch's names."""

AUTO = "auto"
PRECISIONS = (*dict.fromkeys(DTYPES.values()), *QUANTISATIONS)
"""The precisions that can be asked for."""
LISTED_PRECISIONS = f"{', '.join(PRECISIONS[:-1])} or {PRECISIONS[-1]}"


def dtype_name(requested: str) -> str:
    """torch's name of a dtype, without importing torch. Raises DeviceError with the valid names."""
    name = DTYPES.get(requested.strip().lower().removeprefix("torch."))
    if name is None:
        raise DeviceError(f"Unknown dtype '{requested}'. Choose {AUTO}, {LISTED_PRECISIONS}.")
    return name


def check_precision(name: str) -> None:
    """Raise DeviceError, with the valid names, unless this is a dtype, a quantisation or "auto"."""
    if name.strip().lower() != AUTO and quantisation_named(name) is None:
        dtype_name(name)
