"""Step costs given beforehand, by name or in figures, at which steps are counted in place of being timed."""

from __future__ import annotations

from collections.abc import Mapping

from lade_chat.errors import UsageError

STEP_COSTS: Mapping[str, Mapping[int, float]] = {
    "cpu": {1: 1.0, 2: 1.1, 4: 1.15, 8: 1.3, 16: 1.6, 32: 2.1, 64: 2.9},
    "int8": {1: 1.0, 8: 1.0, 16: 1.08, 32: 1.4, 64: 2.2},
    "flat": {1: 1.0, 64: 1.05, 128: 1.15},
}
"""Plain steps by the tokens of a step: a CPU's, one of int8 weights on a CPU, and an accelerator's."""
_MOST_TOKENS, _HIGHEST_COST = 2**14, 1e6


def step_cost_named(text: str) -> Mapping[int, float]:
    """Return a step's cost in plain steps by its tokens, from a name or from figures such as ``1:1,8:1.3``.

    Raises:
        UsageError: it is neither.
    """
    if text in STEP_COSTS:
        return STEP_COSTS[text]
    try:
        pairs = [part.split(":") for part in text.split(",")]
        costs = {int(tokens): float(cost) for tokens, cost in pairs}
    except ValueError:
        names = ", ".join(STEP_COSTS)
        raise UsageError(
            f"'{text}' is none of {names}, nor figures such as 1:1,8:1.3,64:2.9 (tokens and plain steps)."
        ) from None
    if costs.get(1) != 1.0:
        raise UsageError(f"'{text}' does not begin with 1:1, the cost of a plain step.")
    for tokens, cost in costs.items():
        if not (1 <= tokens <= _MOST_TOKENS and 1 <= cost < _HIGHEST_COST):
            raise UsageError(
                f"{tokens}:{cost:g} is no step's cost: 1 to {_MOST_TOKENS:,} tokens cost 1 plain step or more."
            )
    return costs
