"""Chooses the device and the dtype that a model runs in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lade_chat.errors import DeviceError
from lade_chat.protocol.values import QUANTISATIONS

if TYPE_CHECKING:
    import torch

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

SMALL_MODEL_PARAMETERS = 100_000_000
"""Below this many parameters a CPU runs in float32: exactness matters more than memory."""
AUTO = "auto"


def choose_device(requested: str | None) -> torch.device:
    """The device requested, or the first of CUDA, MPS and CPU. Raises DeviceError if it is not available."""
    import torch

    if requested is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(requested.strip().lower())
    except (RuntimeError, ValueError):
        device = torch.device("meta")
    if device.type == "cuda":
        _check_cuda(requested, device)
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(
            f"There is no device '{requested}' here: MPS needs a Mac with Apple silicon. Try --device cpu."
        )
    elif device.type not in ("mps", "cpu"):
        raise DeviceError(f"Unknown device '{requested}'. Choose cpu, cuda, cuda:N or mps.")
    return device


def _check_cuda(requested: str, device: torch.device) -> None:
    import torch

    if not torch.cuda.is_available():
        raise DeviceError(
            f"There is no device '{requested}' here: torch finds no CUDA GPU, or was built without CUDA."
            " Try --device cpu."
        )
    count = torch.cuda.device_count()
    if device.index is not None and device.index >= count:
        raise DeviceError(f"There is no device '{requested}' here: the CUDA devices are cuda:0 to cuda:{count - 1}.")


def parse_dtype(requested: str | None) -> torch.dtype | None:
    """The torch dtype of a name; None for None or "auto". Raises DeviceError with the valid names."""
    import torch

    if requested is None or requested.strip().lower() == AUTO:
        return None
    dtype: torch.dtype = getattr(torch, dtype_name(requested))
    return dtype


def dtype_name(requested: str) -> str:
    """torch's name of a dtype, without importing torch. Raises DeviceError with the valid names."""
    name = DTYPES.get(requested.strip().lower().removeprefix("torch."))
    if name is None:
        valid, quantised = ", ".join(dict.fromkeys(DTYPES.values())), ", ".join(QUANTISATIONS)
        raise DeviceError(f"Unknown dtype '{requested}'. Choose {AUTO}, one of {valid}, or {quantised}.")
    return name


def choose_dtype(
    requested: torch.dtype | None,
    device: torch.device,
    stored: torch.dtype,
    parameters: int,
    fastest: Callable[[], torch.dtype],
) -> torch.dtype:
    """The dtype requested, or the best one for the device.

    On an accelerator, the checkpoint's. On a CPU, float32 for small models; otherwise of float32, if the memory
    suffices, and bfloat16 (in place of float16 too, which CPUs emulate) the one that is ``fastest``, which is measured.
    """
    import torch

    if requested is not None:
        if requested is torch.float64 and device.type == "mps":
            raise DeviceError("MPS has no float64. Choose --dtype float32, or --device cpu.")
        return requested
    if device.type != "cpu" or stored in (torch.float32, torch.float64):
        return stored if stored.is_floating_point else torch.float32
    if parameters < SMALL_MODEL_PARAMETERS:
        return torch.float32
    memory = memory_bytes()
    return fastest() if memory is None or 4 * parameters < 0.8 * memory else torch.bfloat16


def memory_bytes() -> int | None:
    """Memory available to this process, within a container's limit; None if unknown."""
    import os

    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
            memory = min(memory, int(limit.read()))
    except (OSError, ValueError):
        pass  # no limit
    return memory
