"""Can this model be decoded by lookahead, and if not, why not: the gate, then the probe."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import PreTrainedModel

from decoding.model.capabilities import gate_of
from decoding.model.mask_check import why_branches_fail
from decoding.model.state import last_state_of
from decoding.model.survey import survey
from decoding.model.unwrapping import unwrapped


@dataclass(frozen=True, slots=True)
class Support:
    """Whether lookahead serves a model; if not, the reason, as a sentence about the model."""

    supported: bool
    reason: str | None = None


MAX_KNOWN = 8
"""Answers kept, so that a hook or a patch that comes and goes is not asked about every time."""


def lookahead_support(model: PreTrainedModel) -> Support:
    """Ask the gate, then probe with a few small forward passes.

    The answer is kept until the model's modules, their hooks and patches, its configuration, dtype or kind of device
    are others. A hook runs in those passes too; one that does something to the last row alone is found out by them.

    Raises:
        NotImplementedError: a wrapper does to a text what the model within does not know of.
    """
    model = unwrapped(model)
    return support_as_of(model, survey(model).structure)


def support_as_of(model: PreTrainedModel, structure: tuple[object, ...]) -> Support:
    """As :func:`lookahead_support`, of a model that has been looked at.

    Args:
        structure: its state's.
    """
    known: list[tuple[object, Support]] = last_state_of(model).derived.setdefault("support", [])
    for known_structure, support in known:
        if known_structure == structure:
            return support
    gate = gate_of(model)
    reason = gate.reason or why_branches_fail(model, gate)
    support = Support(reason is None, reason)
    known[:] = [(structure, support), *known][:MAX_KNOWN]
    return support
