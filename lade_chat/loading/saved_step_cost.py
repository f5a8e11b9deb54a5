"""The cost of a loaded model's steps: kept by its runner, saved for the next start, measured where none is saved."""

from __future__ import annotations

from contextlib import suppress

import torch

import decoding
from decoding.runner import runner_of
from lade_chat.loading import findings_cache
from lade_chat.loading.model_loader import LoadedModel

STEP_COSTS = "step-costs"
"""The file in the cache folder."""
_METHOD_VERSION = 8
"""Increment when the implementation of steps changes, to measure again."""


def step_cost(loaded: LoadedModel) -> decoding.StepCost | None:
    """Return the cost of steps on one rank, if its runner has it."""
    return runner_of(loaded.model).step_costs.get((loaded.info.compiled, False))


def keep_step_cost(loaded: LoadedModel, *, measured: bool = True) -> decoding.StepCost | None:
    """Have the runner keep the saved cost of steps; if there is none, measure it unless told not to.

    A saved one is not checked here, since the first reply waits for this: live steps correct it, and
    :func:`check_step_cost` checks one by which no candidate pays.
    """
    cost = saved_step_cost(loaded)
    if cost is None and measured:
        return measure_and_save(loaded)
    if cost is not None:
        _keep(loaded, cost)
    return cost


def check_step_cost(loaded: LoadedModel) -> None:
    """Measure the cost of steps again if it does not hold any more."""
    cost = step_cost(loaded)
    if cost is not None and not decoding.still_holds(loaded.model, cost, compiled=loaded.info.compiled):
        measure_and_save(loaded)


def saved_step_cost(loaded: LoadedModel) -> decoding.StepCost | None:
    """Return the saved step cost, if there is one."""
    known = findings_cache.read(STEP_COSTS).get(_cost_key(loaded))
    if isinstance(known, dict):
        with suppress(ValueError):
            return decoding.StepCost.from_dict(known)
    return None


def measure_and_save(loaded: LoadedModel) -> decoding.StepCost:
    """Measure the cost of steps, have the runner keep it, and save it unless the machine was busy meanwhile."""
    cost = decoding.measure_step_cost(loaded.model, compiled=loaded.info.compiled)
    _keep(loaded, cost)
    save_step_cost(loaded)
    return cost


def save_step_cost(loaded: LoadedModel) -> None:
    """Save the cost, which live steps may have refined, for the next start, unless it is rough."""
    cost = step_cost(loaded)
    if cost is not None and not cost.is_rough:
        findings_cache.write(STEP_COSTS, _cost_key(loaded), cost.as_dict())


def _keep(loaded: LoadedModel, cost: decoding.StepCost) -> None:
    runner_of(loaded.model).step_costs[loaded.info.compiled, False] = cost


def _cost_key(loaded: LoadedModel) -> str:
    """Everything the cost depends on: the model's shape, device, dtype, threads, torch, and our own implementation."""
    return " | ".join(
        (
            findings_cache.digest_of(loaded.model),
            findings_cache.device_name(loaded.model.device),
            loaded.info.dtype,
            f"{torch.get_num_threads()} threads",
            f"torch {torch.__version__}",
            f"measured {_METHOD_VERSION}",
            *(["in C"] if loaded.info.bit_exact else []),
            *(["compiled"] if loaded.info.compiled else []),
            *([f"split over {loaded.info.tensor_parallel}"] if loaded.info.tensor_parallel > 1 else []),
        )
    )
