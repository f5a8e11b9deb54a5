"""Can this model be decoded by lookahead, and if not, why not: the gate, then the probe."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

from transformers import PreTrainedModel

from decoding.gate import attention_of, gate_of
from decoding.probe import why_branches_fail


@dataclass(frozen=True, slots=True)
class Support:
    """Whether lookahead serves a model; if not, the reason, as a sentence about the model."""

    supported: bool
    reason: str | None = None


_known: WeakKeyDictionary[PreTrainedModel, tuple[str, Support]] = WeakKeyDictionary()


def lookahead_support(model: PreTrainedModel) -> Support:
    """Ask the gate, then probe with a few small forward passes.

    The answer is kept for the model's lifetime, or until it is switched to another attention.
    """
    attention = attention_of(model)
    known, support = _known.get(model, (None, None))
    if support is None or known != attention:
        gate = gate_of(model)
        reason = gate.reason or why_branches_fail(model, gate)
        support = Support(reason is None, reason)
        _known[model] = attention, support
    return support
