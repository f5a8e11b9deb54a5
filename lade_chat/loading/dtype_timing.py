"""Measures which dtype a model's products are fastest in on this CPU, once for a shape, and remembers it."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

from lade_chat.loading.remembered import device_name, read, write

if TYPE_CHECKING:
    import torch

FILE = "dtype-times"
ROWS = (1, 6)
"""Tokens of a plain step, and of one with candidates."""
SAMPLE_BYTES = 64_000_000
"""Weights of a timing in bfloat16: more than most processor caches hold, as in a real step."""
MAX_WEIGHTS, REPEATS, MAX_SECONDS = 100, 4, 0.8


def fastest_dtype(config: Any, stored: torch.dtype) -> torch.dtype:
    """Return bfloat16 or float32, whichever multiplies faster here. At most two seconds, unless remembered.

    Args:
        stored: of the checkpoint. Its weights in bfloat16 are read as such where float32 runs in C.
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


def product_milliseconds(config: Any, stored: torch.dtype, dtype: torch.dtype) -> float:
    """Return the least time of products by some weights of the MLP's shape, on average over :data:`ROWS`."""
    import torch
    from torch.nn import functional

    kernels = _kernels(config)
    narrow = torch.bfloat16 in (stored, dtype) and kernels is not None
    outputs, width = _shape(config)
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


def _kernels(config: Any) -> Any:
    """Return the kernels in C if the model's steps run in them."""
    from decoding.llama.forward import MODEL_TYPES
    from decoding.native.kernels import native_kernels

    return native_kernels() if config.model_type in MODEL_TYPES else None


def _shape(config: Any) -> tuple[int, int]:
    text = config.get_text_config(decoder=True)
    width = int(getattr(text, "hidden_size", None) or 1024)
    inner = getattr(text, "intermediate_size", None)
    return inner if isinstance(inner, int) else 4 * width, width


def _key(config: Any, stored: torch.dtype) -> str:
    import torch

    outputs, width = _shape(config)
    how = "torch" if _kernels(config) is None else "C"
    return " | ".join(
        (
            f"{outputs}×{width} of {_name(stored)} in {how}",
            device_name(torch.device("cpu")),
            f"{torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
        )
    )


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
