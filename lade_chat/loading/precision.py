"""Chooses the device and the dtype that a model runs in; what is asked for is checked without importing torch."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from lade_chat.errors import DeviceError, not_installed_message
from lade_chat.loading.findings_cache import device_name, read, write
from lade_chat.precision_names import AUTO, dtype_name
from lade_chat.protocol.values import QUANTISATIONS, ModelOptions

if TYPE_CHECKING:
    import torch

SMALL_MODEL_PARAMETERS = 100_000_000
"""Below this many parameters a CPU runs in float32: exactness matters more than memory."""
_DEVICES = re.compile(r"(cpu|cuda|mps)(:\d{1,2})?")


def check_device(requested: str) -> None:
    """Raise DeviceError unless this names a device that a model can run on."""
    if not _DEVICES.fullmatch(requested.strip().lower()):
        raise DeviceError(f"Unknown device '{requested}'. Choose cpu, cuda, cuda:N or mps.")


def check_quantisation(method: str) -> None:
    """Raise DeviceError if there is no quantisation of this name."""
    if method not in QUANTISATIONS:
        raise DeviceError(f"--quantize knows only {', '.join(QUANTISATIONS)}.")


def check_options(options: ModelOptions) -> None:
    """Raise DeviceError for an unknown device or dtype, and for options that exclude one another."""
    if options.device is not None:
        check_device(options.device)
    if options.dtype is not None and options.dtype.strip().lower() != AUTO:
        dtype_name(options.dtype)
    spread, compiled = options.device_map is not None, options.compiled
    if options.quantize:
        check_quantisation(options.quantize)
        if options.device is not None and not options.device.strip().lower().startswith("cpu"):
            raise DeviceError(f"{options.quantize} is for models on a CPU, not on {options.device}.")
        if options.processes > 1 or spread or compiled:
            raise DeviceError(f"{options.quantize} does not go with --compile, --device-map or several processes.")
    if options.tensor_parallel > 1 and (spread or compiled):
        raise DeviceError(f"--tensor-parallel does not go with {'--compile' if compiled else '--device-map'}.")
    if spread and options.device is not None:
        raise DeviceError("--device-map and --device exclude each other: leave one of them away.")
    if spread and compiled:
        raise DeviceError("--compile does not go with --device-map.")
    if spread and find_spec("accelerate") is None:
        raise DeviceError(not_installed_message("--device-map", "accelerate"))


def check_gguf_options(options: ModelOptions, name: str) -> None:
    """Raise DeviceError for options that would change a GGUF file's weights, or split them."""
    given = {
        "--dtype and --quantize": (options.precision or AUTO).strip().lower() != AUTO,
        "--compile": options.compiled,
        "--device-map": options.device_map is not None,
        "--tensor-parallel": options.tensor_parallel > 1,
    }
    flag = next((flag for flag, is_given in given.items() if is_given), None)
    if flag is not None:
        more = ", or say --dtype auto if a setting has one (in the chat, leave Precision empty)"
        way_on = f"leave {flag} away{more if '--dtype' in flag else ''}"
        raise DeviceError(f"{name} is a GGUF file, whose weights stay as they are: {way_on}.")


def choose_device(requested: str | None) -> torch.device:
    """The device requested, or the first of CUDA, MPS and CPU. Raises DeviceError if it is not available."""
    import torch

    if requested is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    check_device(requested)
    device = torch.device(requested.strip().lower())
    if device.type == "cuda":
        _check_cuda(requested, device)
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise DeviceError(
            f"There is no device '{requested}' here: MPS needs a Mac with Apple silicon. Try --device cpu."
        )
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


def choose_dtype(
    requested: torch.dtype | None,
    device: torch.device,
    stored: torch.dtype,
    parameters: int,
    fastest: Callable[[], torch.dtype],
) -> torch.dtype:
    """The dtype requested, or the best one for the device.

    On an accelerator, the checkpoint's. On a CPU, float32 for small models; otherwise the ``fastest``, which is
    measured, of bfloat16 (in place of float16 too, which CPUs emulate) and, if the memory suffices, float32.
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
    return fastest() if 4 * parameters < 0.8 * memory_bytes() else torch.bfloat16


def memory_bytes() -> int:
    """Memory available to this process: the machine's, within a container's limit."""
    import psutil

    memory: int = psutil.virtual_memory().total
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit:
        memory = min(memory, int(limit.read()))
    return memory


FILE = "dtype-times"
"""The dtype in which a model's products are fastest on this CPU is measured once for a shape, and remembered there."""
ROWS = (1, 6)
"""Tokens of a plain step, and of one with candidates."""
SAMPLE_BYTES = 64_000_000
"""Weights of a timing in bfloat16: more than most processor caches hold, as in a real step."""
MAX_WEIGHTS, REPEATS, MAX_SECONDS = 100, 4, 0.8


def fastest_dtype(config: Any, stored: torch.dtype) -> torch.dtype:
    """Return bfloat16 or float32, whichever multiplies faster here. At most two seconds, unless remembered.

    ``stored``: of the checkpoint. Its weights in bfloat16 are read as such where float32 runs in C.
    """
    import torch

    key, dtypes = _key(config, stored), (torch.bfloat16, torch.float32)
    known = read(FILE).get(key)
    if not isinstance(known, dict) or known.keys() != {_name(dtype) for dtype in dtypes}:
        known = {_name(dtype): product_milliseconds(config, stored, dtype) for dtype in dtypes}
        write(FILE, key, known)
    return min(dtypes, key=lambda dtype: float(known[_name(dtype)]))


def remembered_times(model: Any) -> dict[str, float]:
    """Return the milliseconds measured for a loaded model's products, by dtype; empty if none were."""
    import torch

    found = (read(FILE).get(_key(model.config, stored)) for stored in (torch.bfloat16, torch.float16))
    return next((times for times in found if isinstance(times, dict)), {})


class _Products(NamedTuple):
    """The products of a model's MLP: their shape, and how they are computed on this CPU."""

    outputs: int
    width: int
    has_experts: bool
    kernels: Any
    """Those in C, if the model's steps run in them."""

    @classmethod
    def of(cls, config: Any) -> _Products:
        from decoding.native.architectures import ARCHITECTURES
        from decoding.native.kernels import native_kernels

        text = config.get_text_config(decoder=True)
        width = int(getattr(text, "hidden_size", None) or 1024)
        inner = getattr(text, "intermediate_size", None)
        has_experts = any(getattr(text, name, None) for name in ("num_experts", "num_local_experts"))
        kernels = native_kernels() if text.model_type in ARCHITECTURES else None
        return cls(inner if isinstance(inner, int) else 4 * width, width, has_experts, kernels)


def product_milliseconds(config: Any, stored: torch.dtype, dtype: torch.dtype) -> float:
    """Return the least time of products by some weights of the MLP's shape, on average over :data:`ROWS`."""
    import torch
    from torch.nn import functional

    outputs, width, has_experts, kernels = _Products.of(config)
    # Of experts there are no copies in bfloat16.
    narrow = torch.bfloat16 == dtype or (stored == torch.bfloat16 and kernels is not None and not has_experts)
    count = min(1 + SAMPLE_BYTES // (2 * outputs * width), MAX_WEIGHTS)
    weights = [torch.full((outputs, width), 0.01, dtype=torch.bfloat16 if narrow else dtype) for _ in range(count)]
    multiply = kernels.product if kernels is not None else functional.linear
    least, begun = dict.fromkeys(ROWS, float("inf")), perf_counter()
    for rows in ROWS * REPEATS:
        given, started = torch.ones(rows, width, dtype=dtype), perf_counter()
        for weight in weights:
            multiply(given, weight)
        least[rows] = min(least[rows], perf_counter() - started)
        if perf_counter() - begun > MAX_SECONDS and max(least.values()) < float("inf"):
            break
    return 1000 * sum(least.values()) / len(ROWS)


def _key(config: Any, stored: torch.dtype) -> str:
    import torch

    outputs, width, has_experts, kernels = _Products.of(config)
    how = "torch" if kernels is None else "C, with experts" if has_experts else "C"
    shape, device = f"{outputs}×{width} of {_name(stored)} in {how}", device_name(torch.device("cpu"))
    return f"{shape} | {device} | {torch.get_num_threads()} threads | torch {torch.__version__}"


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
