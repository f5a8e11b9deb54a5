"""Saves the measured step cost of each model on this machine, so that it is not measured at every start.

The file is in the user's cache folder. It can always be rebuilt, so errors in reading or writing it are ignored.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.atomic_write import atomic_write
from lade_chat.loading.model import LoadedModel

if TYPE_CHECKING:
    import torch

    from decoding import StepCost

MAX_ENTRIES = 50
"""Models and machines remembered; the oldest entry is dropped first."""
_METHOD_VERSION = 4
"""Increment when the implementation of steps changes, to measure again."""
_IRRELEVANT_KEYS = ("_name_or_path", "transformers_version")


def with_step_cost(loaded: LoadedModel) -> LoadedModel:
    """The model with its step cost."""
    return replace(loaded, step_cost=step_cost_for(loaded))


def with_checked_step_cost(loaded: LoadedModel) -> LoadedModel:
    """The model with its present step cost if that still holds, otherwise with a new measurement."""
    from decoding import still_holds

    if loaded.step_cost is None or still_holds(loaded.model, loaded.step_cost, compiled=loaded.info.compiled):
        return loaded
    return replace(loaded, step_cost=measure(loaded))


def step_cost_for(loaded: LoadedModel) -> StepCost:
    """The saved step cost if it still holds, otherwise a new measurement (half a second)."""
    from decoding import StepCost, still_holds

    known = _read().get(_key(loaded))
    if isinstance(known, dict):
        with suppress(ValueError):
            remembered = StepCost.from_dict(known)
            if still_holds(loaded.model, remembered, compiled=loaded.info.compiled):
                return remembered
    return measure(loaded)


def measure(loaded: LoadedModel) -> StepCost:
    """Measure and save the step cost."""
    from decoding import measure_step_cost

    cost = measure_step_cost(loaded.model, compiled=loaded.info.compiled)
    remember(loaded, cost)
    return cost


def remember(loaded: LoadedModel, cost: StepCost) -> None:
    """Save the cost, which live steps may have refined, for the next start."""
    key, entries = _key(loaded), _read()
    entries.pop(key, None)
    entries[key] = cost.as_dict()
    kept = dict(list(entries.items())[-MAX_ENTRIES:])
    with suppress(OSError):
        atomic_write(_file(), json.dumps(kept, indent=1).encode())


def _file() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("lade-chat", appauthor=False) / "step-costs.json"


def _read() -> dict[str, Any]:
    try:
        entries = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _key(loaded: LoadedModel) -> str:
    """Everything the cost depends on: the model's shape, device, dtype, threads, torch, and our own implementation."""
    import torch

    config = loaded.model.config
    shape = {name: value for name, value in config.to_dict().items() if name not in _IRRELEVANT_KEYS}
    described = json.dumps([shape, getattr(config, "_attn_implementation", None)], sort_keys=True, default=str)
    return " | ".join(
        (
            f"{type(loaded.model).__name__} {sha256(described.encode()).hexdigest()[:16]}",
            _device_name(loaded.model.device),
            loaded.info.dtype,
            f"{torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
            f"measured {_METHOD_VERSION}",
            *(["compiled"] if loaded.info.compiled else []),
            *([f"split over {loaded.info.tensor_parallel}"] if loaded.info.tensor_parallel > 1 else []),
        )
    )


def _device_name(device: torch.device) -> str:
    import platform

    import torch

    if device.type == "cuda":
        return f"{device} {torch.cuda.get_device_name(device)}"
    # Machines of several kinds may share a home folder. On Linux only /proc/cpuinfo names the processor.
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        if name := next(names, ""):
            return f"{device} {name}, {os.cpu_count()} cores"
    return f"{device} {platform.processor() or platform.machine()}, {os.cpu_count()} cores"
