"""Cost of each model's steps on this machine: kept by its runner, and saved so that not every start measures it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from lade_chat.loading.findings_cache import device_name, digest_of, read, write
from lade_chat.loading.model_loader import LoadedModel

if TYPE_CHECKING:
    from decoding import StepCost

FILE = "step-costs"
_METHOD_VERSION = 8
"""Increment when the implementation of steps changes, to measure again."""


def step_cost(loaded: LoadedModel) -> StepCost | None:
    """Return the cost of steps on one rank, if its runner has it."""
    from decoding.runner import runner_of

    return runner_of(loaded.model).step_costs.get((loaded.info.compiled, False))


def keep_step_cost(loaded: LoadedModel, *, measured: bool = True) -> StepCost | None:
    """Have the runner keep the saved cost of steps; if there is none, measure it unless told not to.

    A saved one is not checked here, since the first reply waits for this: live steps correct it, and
    :func:`check_step_cost` checks one by which no candidate pays.
    """
    cost = saved_step_cost(loaded)
    if cost is None and measured:
        return measure(loaded)
    if cost is not None:
        _keep(loaded, cost)
    return cost


def check_step_cost(loaded: LoadedModel) -> None:
    """Measure the cost of steps again if it does not hold any more."""
    from decoding import still_holds

    cost = step_cost(loaded)
    if cost is not None and not still_holds(loaded.model, cost, compiled=loaded.info.compiled):
        measure(loaded)


def saved_step_cost(loaded: LoadedModel) -> StepCost | None:
    """Return the saved step cost, if there is one."""
    from decoding import StepCost

    known = read(FILE).get(_key(loaded))
    if isinstance(known, dict):
        with suppress(ValueError):
            return StepCost.from_dict(known)
    return None


def measure(loaded: LoadedModel) -> StepCost:
    """Measure the cost of steps, have the runner keep it, and save it unless the machine was busy meanwhile."""
    from decoding import measure_step_cost

    cost = measure_step_cost(loaded.model, compiled=loaded.info.compiled)
    _keep(loaded, cost)
    save_step_cost(loaded)
    return cost


def save_step_cost(loaded: LoadedModel) -> None:
    """Save the cost, which live steps may have refined, for the next start, unless it is rough."""
    cost = step_cost(loaded)
    if cost is not None and not cost.is_rough:
        write(FILE, _key(loaded), cost.as_dict())


def _keep(loaded: LoadedModel, cost: StepCost) -> None:
    from decoding.runner import runner_of

    runner_of(loaded.model).step_costs[loaded.info.compiled, False] = cost


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
