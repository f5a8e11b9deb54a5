"""Keeps what a step costs with a model on this machine, so that it is measured once and not at every start.

The figures stand in one small file under the user's cache folder. They can always be measured again, so a file that
cannot be read or written is passed over in silence.
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

MOST_ENTRIES = 50
"""Models and machines remembered; the one that was written longest ago goes first."""
_MEASURED_HOW = 4
"""Raised when steps are taken in another way than before, so that what was measured then is measured anew."""
_NOT_OF_THE_SHAPE = ("_name_or_path", "transformers_version")


def with_step_cost(loaded: LoadedModel) -> LoadedModel:
    """The model with what its steps cost."""
    return replace(loaded, step_cost=step_cost_for(loaded))


def with_checked_step_cost(loaded: LoadedModel) -> LoadedModel:
    """The model with the cost that it has if that still holds, else with one measured now and remembered."""
    from decoding import still_holds

    if loaded.step_cost is None or still_holds(loaded.model, loaded.step_cost, compiled=loaded.info.compiled):
        return loaded
    return replace(loaded, step_cost=_measured(loaded))


def step_cost_for(loaded: LoadedModel) -> StepCost:
    """What a step costs: as remembered, if that still holds, else measured now (half a second) and remembered."""
    from decoding import StepCost, still_holds

    known = _read().get(_key(loaded))
    if isinstance(known, dict):
        with suppress(ValueError):
            remembered = StepCost.from_dict(known)
            if still_holds(loaded.model, remembered, compiled=loaded.info.compiled):
                return remembered
    return _measured(loaded)


def _measured(loaded: LoadedModel) -> StepCost:
    """What a step costs now, which is remembered."""
    from decoding import measure_step_cost

    cost = measure_step_cost(loaded.model, compiled=loaded.info.compiled)
    remember(loaded, cost)
    return cost


def remember(loaded: LoadedModel, cost: StepCost) -> None:
    """Keep the cost, which live steps may have refined, for the next start."""
    key, entries = _key(loaded), _read()
    entries.pop(key, None)
    entries[key] = cost.as_dict()
    kept = dict(list(entries.items())[-MOST_ENTRIES:])
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
    """What the cost follows from: the model's shape (not its weights), device, dtype, threads, torch, our own steps."""
    import torch

    config = loaded.model.config
    shape = {name: value for name, value in config.to_dict().items() if name not in _NOT_OF_THE_SHAPE}
    told = json.dumps([shape, getattr(config, "_attn_implementation", None)], sort_keys=True, default=str)
    return " | ".join(
        (
            f"{type(loaded.model).__name__} {sha256(told.encode()).hexdigest()[:16]}",
            _device_name(loaded.model.device),
            loaded.info.dtype,
            f"{torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
            f"measured {_MEASURED_HOW}",
            *(["compiled"] if loaded.info.compiled else []),
            *([f"split over {loaded.info.tensor_parallel}"] if loaded.info.tensor_parallel > 1 else []),
        )
    )


def _device_name(device: torch.device) -> str:
    import platform

    import torch

    if device.type == "cuda":
        return f"{device} {torch.cuda.get_device_name(device)}"
    # A home folder may be shared by machines of several kinds. Linux tells a processor's name nowhere else.
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        if name := next(names, ""):
            return f"{device} {name}, {os.cpu_count()} cores"
    return f"{device} {platform.processor() or platform.machine()}, {os.cpu_count()} cores"
