"""Saves the measured step cost of each model on this machine, so that it is not measured at every start."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lade_chat.loading.model import LoadedModel
from lade_chat.loading.remembered import device_name, digest_of, read, write

if TYPE_CHECKING:
    from decoding import StepCost

FILE = "step-costs"
_METHOD_VERSION = 7
"""Increment when the implementation of steps changes, to measure again."""


def with_step_cost(loaded: LoadedModel, *, measured: bool = True) -> LoadedModel:
    """The model with its step cost; unless ``measured``, a saved one or none."""
    return replace(loaded, step_cost=step_cost_for(loaded) if measured else saved_step_cost(loaded))


def with_checked_step_cost(loaded: LoadedModel) -> LoadedModel:
    """The model with its present step cost if that still holds, otherwise with a new measurement."""
    from decoding import still_holds

    if loaded.step_cost is None or still_holds(loaded.model, loaded.step_cost, compiled=loaded.info.compiled):
        return loaded
    return replace(loaded, step_cost=measure(loaded))


def step_cost_for(loaded: LoadedModel) -> StepCost:
    """Return the saved step cost, otherwise a new measurement.

    A saved one is not checked here, since the first reply waits for this: live steps correct it, and
    :func:`with_checked_step_cost` checks one by which no candidate pays.
    """
    return saved_step_cost(loaded) or measure(loaded)


def saved_step_cost(loaded: LoadedModel) -> StepCost | None:
    """Return the saved step cost, if there is one."""
    from decoding import StepCost

    known = read(FILE).get(_key(loaded))
    if isinstance(known, dict):
        with suppress(ValueError):
            return StepCost.from_dict(known)
    return None


def measure(loaded: LoadedModel) -> StepCost:
    """Measure the step cost, and save it unless the machine was busy meanwhile."""
    from decoding import measure_step_cost

    cost = measure_step_cost(loaded.model, compiled=loaded.info.compiled)
    remember(loaded, cost)
    return cost


def remember(loaded: LoadedModel, cost: StepCost) -> None:
    """Save the cost, which live steps may have refined, for the next start; not one that is rough."""
    if cost.is_rough:
        return
    write(FILE, _key(loaded), cost.as_dict())


def _key(loaded: LoadedModel) -> str:
    """Everything the cost depends on: the model's shape, device, dtype, threads, torch, and our own implementation."""
    import torch

    return " | ".join(
        (
            digest_of(loaded.model),
            device_name(loaded.model.device),
            loaded.info.dtype,
            f"{torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
            f"measured {_METHOD_VERSION}",
            *(["in C"] if loaded.info.bit_exact else []),
            *(["compiled"] if loaded.info.compiled else []),
            *([f"split over {loaded.info.tensor_parallel}"] if loaded.info.tensor_parallel > 1 else []),
        )
    )
